"""Kinds of cell, the names they bind and read, and every fault of form that a lesson can have."""

import pytest
from nbformat import v4

from grader import notebook as nb
from grader.errors import CourseError
from grader.lesson import (
    Kind,
    demo_only_names,
    exercises,
    faults,
    grade_id,
    kind,
    names_bound,
    names_read,
    points,
    require_sound,
)

REGION = "### BEGIN SOLUTION\n{}\n### END SOLUTION"


def marked(name, **marks):
    usual = {"grade": False, "solution": False, "locked": False, "schema_version": 3, "task": False}
    return {"nbgrader": usual | {"grade_id": name} | marks}


def setup(source="import math", name="setup"):
    return v4.new_code_cell(source, metadata=marked(name, locked=True))


def demo(source, name="demo"):
    return v4.new_code_cell(source, metadata=marked(name, locked=True) | {"tags": ["demo"]})


def answer(name="double", body="def double(x):\n    return 2 * x"):
    return v4.new_code_cell(REGION.format(body), metadata=marked(name, solution=True))


def predict(body="guess = 1", name="guess"):
    metadata = marked(name, solution=True) | {"tags": ["predict"]}
    return v4.new_code_cell(REGION.format(body), metadata=metadata)


def graded(name="double-one", source="check.one(double)", worth=2):
    metadata = marked(name, grade=True, locked=True, points=worth)
    return v4.new_code_cell(source, metadata=metadata)


def written(name="why"):
    metadata = marked(name, grade=True, solution=True, points=3)
    return v4.new_markdown_cell(REGION.format("Because."), metadata=metadata)


def notebook(*cells):
    return nb.node(**v4.new_notebook(cells=list(cells)))


SOUND = [
    v4.new_markdown_cell("# Title"),
    setup(),
    predict(),
    demo("shown = guess"),
    answer(),
    graded(),
    graded("double-two", worth=1),
    answer("triple", "def triple(x):\n    return 3 * x"),
    graded("triple-one", "check.three(triple)"),
    written(),
]


# --- kinds --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (v4.new_markdown_cell("text"), Kind.TEXT),
        (setup(), Kind.SETUP),
        (demo("1"), Kind.DEMO),
        (answer(), Kind.ANSWER),
        (predict(), Kind.PREDICT),
        (graded(), Kind.GRADED),
        (written(), Kind.WRITTEN),
        (v4.new_code_cell("1"), None),
        (v4.new_code_cell("1", metadata={"tags": ["demo"]}), None),
    ],
)
def test_kind(cell, expected):
    assert kind(cell) is expected


def test_grade_id_and_points():
    assert grade_id(graded()) == "double-one"
    assert points(graded()) == 2.0
    assert grade_id(v4.new_code_cell("1")) is None
    assert grade_id(v4.new_code_cell("1", metadata={"nbgrader": {"grade_id": 3}})) is None


def test_a_graded_cell_belongs_to_the_answer_cell_above_it():
    found = exercises(notebook(*SOUND))
    assert {name: [grade_id(cell) for cell in cells] for name, cells in found.items()} == {
        "double": ["double-one", "double-two"],
        "triple": ["triple-one"],
        "why": ["why"],
    }


# --- names --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "bound"),
    [
        ("a = b", {"a"}),
        ("a, (b, *c) = 1, (2, 3)", {"a", "b", "c"}),
        ("a += 1", {"a"}),
        ("a: int = 1", {"a"}),
        ("import numpy as np\nimport os.path\nfrom math import pi as p", {"np", "os", "p"}),
        ("def f(x):\n    y = x", {"f"}),
        ("class C:\n    z = 1", {"C"}),
        ("for i in []:\n    pass", {"i"}),
        ("with a as b:\n    pass", {"b"}),
        ("if (n := 3):\n    pass", {"n"}),
        ("print(a)\na.b = 1\na[0] = 2", set()),
        ("[x for x in y]", set()),
    ],
)
def test_names_bound(source, bound):
    assert names_bound(source) == bound


@pytest.mark.parametrize(
    ("source", "read"),
    [
        ("a = b", {"b"}),
        ("def f(x):\n    y = x\n    return y + z", {"z"}),
        ("def f(x=d):\n    return x", {"d"}),
        ("def f():\n    def g():\n        return deep\n    return g", {"deep"}),
        ("lambda x: x + k", {"k"}),
        ("[x + k for x in xs]", {"k", "xs"}),
        ("class C(Base):\n    def m(self):\n        return far", {"Base", "far"}),
        ("import math\nmath.pi", {"math"}),
        ("a.b = c", {"a", "c"}),
    ],
)
def test_names_read(source, read):
    assert names_read(source) == read


def test_names_that_only_demos_bind():
    cells = notebook(setup("a = 1"), demo("a = b = 2"), predict("guess = 3"), answer())
    assert demo_only_names(cells) == {"b", "guess"}


# --- faults -------------------------------------------------------------------------------------


def test_a_sound_lesson_has_no_fault():
    assert faults(notebook(*SOUND)) == []


BARE = v4.new_code_cell("def f():\n    pass", metadata=marked("bare", solution=True))
FAULTY = {
    "is code of no kind": [v4.new_code_cell("x = 1")],
    "must end in a call of a check": [answer(), graded(source="1 + 1")],
    "has no BEGIN SOLUTION": [BARE],
    "'double' is there twice": [answer(), answer()],
    "stands before the first answer": [graded(), answer()],
    "'triple' reads 'shown', which only a demo": [
        demo("shown = 1"),
        answer("triple", "def triple(x):\n    return shown"),
    ],
    "'double-one' reads 'shown', which only a demo": [
        demo("shown = 1"),
        answer(),
        graded(source="check.one(double, shown)"),
    ],
    "'late' reads 'shown', which only a demo": [demo("shown = 1"), setup("shown + 1", "late")],
    "'double' reads 'guess', which only a demo or predict cell": [
        predict(),
        answer(body="double = guess"),
    ],
}


@pytest.mark.parametrize("fault", FAULTY)
def test_every_fault_is_found_and_alone(fault):
    found = faults(notebook(*FAULTY[fault]))
    assert len(found) == 1
    assert fault in found[0]


def test_a_demo_may_read_what_a_demo_binds():
    assert faults(notebook(demo("a = 1"), demo("a + 1", "more"))) == []


def test_a_faulty_lesson_is_refused_with_all_its_faults():
    cells = notebook(v4.new_code_cell("x = 1"), answer(), answer())
    with pytest.raises(CourseError, match=r"^here: .*of no kind.*; .*there twice\.$"):
        require_sound(cells, "here")
