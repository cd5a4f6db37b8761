"""Whatever is handed in, the released notebook comes back with the student's answers in it."""

import base64
import copy
import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nbformat import NotebookNode

from grader import course
from grader.errors import CourseError
from grader.examiner.rebuild import ELSEWHERE, Rebuilt, rebuild
from grader.examiner.submission import MOST_CELLS, read, usable
from grader.lesson import BY_STUDENTS, Kind, grade_id, kind, node

LESSON = course.lesson("01-softmax")
RELEASED: NotebookNode = nbformat.read(LESSON.released, as_version=4)
SOLVED = {grade_id(cell): cell.source for cell in nbformat.read(LESSON.solution, 4).cells}
ANSWERS = {name: SOLVED[name] for name in ("softmax_list", "softmax")}
WRITTEN = "Because $e^{1000}$ overflows, and the factor cancels."
STUBS = {grade_id(cell): cell.source for cell in RELEASED.cells}


def handed_in() -> NotebookNode:
    """The lesson as a student hands it in who has solved it."""
    notebook = copy.deepcopy(RELEASED)
    for cell in notebook.cells:
        name = grade_id(cell)
        if kind(cell) in (Kind.ANSWER, Kind.PREDICT):
            cell.source = SOLVED[name]
        if kind(cell) is Kind.WRITTEN:
            cell.source = WRITTEN
    return notebook


@pytest.fixture
def notebook() -> NotebookNode:
    return handed_in()


def at(notebook: NotebookNode, name: str) -> int:
    return next(i for i, cell in enumerate(notebook.cells) if grade_id(cell) == name)


def cell(notebook: NotebookNode, name: str) -> NotebookNode:
    found: NotebookNode = notebook.cells[at(notebook, name)]
    return found


def code(source: str, **metadata: Any) -> NotebookNode:
    return node(cell_type="code", source=source, outputs=[], metadata=nbformat.from_dict(metadata))


def text(source: str, **metadata: Any) -> NotebookNode:
    return node(cell_type="markdown", source=source, metadata=nbformat.from_dict(metadata))


def own(result: Rebuilt) -> list[NotebookNode]:
    return [one for one in result.notebook.cells if one.id.startswith("own-")]


def own_sources(result: Rebuilt) -> list[str]:
    return [one.source for one in own(result)]


def names_at(result: Rebuilt, name: str) -> dict[str, Any]:
    """What the student's side has bound when the graded cell `name` asks for it."""
    names: dict[str, Any] = {}
    for one in result.notebook.cells:
        if grade_id(one) == name:
            return names
        if one.cell_type == "code" and kind(one) in (Kind.SETUP, Kind.ANSWER, None):
            try:
                exec(one.source, names)
            except Exception as error:
                names.setdefault("errors", []).append(error)
    raise AssertionError(f"no cell {name}")


def softmax_is_right(result: Rebuilt, graded: str = "softmax-values") -> bool:
    try:
        weights = names_at(result, graded)["softmax"](np.array([0.0, math.log(3)]))
    except (KeyError, NameError, NotImplementedError):
        return False
    return bool(np.allclose(weights, [0.25, 0.75]))


def assert_sound(result: Rebuilt) -> None:
    """What holds of every result: the lesson as it was released, and own cells without marks."""
    nbformat.validate(result.notebook)
    ids = [one.id for one in result.notebook.cells]
    assert len(ids) == len(set(ids))
    theirs = [one for one in result.notebook.cells if not one.id.startswith("own-")]
    assert len(theirs) == len(RELEASED.cells)
    for one, released in zip(theirs, RELEASED.cells, strict=True):
        assert (one.id, one.cell_type, one.metadata) == (
            released.id,
            released.cell_type,
            released.metadata,
        )
        if kind(released) not in BY_STUDENTS:
            assert one == released
    assert result.notebook.metadata == RELEASED.metadata
    assert all(one.metadata == {} and one.cell_type in ("code", "markdown") for one in own(result))
    assert all("attachments" not in one for one in own(result))
    assert list(result.answers) == list(ANSWERS)
    for name, source in result.answers.items():
        assert cell(result.notebook, name).source == source


# --- nothing odd ------------------------------------------------------------------------------


def test_a_solved_lesson_comes_back_as_it_is(notebook: NotebookNode) -> None:
    result = rebuild(notebook, RELEASED)
    assert_sound(result)
    assert result.answers == ANSWERS
    assert result.notes == ()
    assert cell(result.notebook, "why-the-maximum").source == WRITTEN
    assert cell(result.notebook, "guess-times-ten").source == SOLVED["guess-times-ten"]
    assert own(result) == []


def test_an_untouched_lesson_is_all_stubs() -> None:
    result = rebuild(RELEASED, RELEASED)
    assert result.notebook == RELEASED
    assert result.answers == {name: STUBS[name] for name in ANSWERS}
    assert result.notes == ()


def test_neither_argument_is_changed(notebook: NotebookNode) -> None:
    notebook.cells.insert(3, code("x = 1"))
    before, released = copy.deepcopy(notebook), copy.deepcopy(RELEASED)
    rebuild(notebook, RELEASED)
    assert (notebook, RELEASED) == (before, released)


# --- the table of what goes wrong -------------------------------------------------------------


def test_deleted_graded_cells_are_put_back(notebook: NotebookNode) -> None:
    del notebook.cells[at(notebook, "softmax-values")]
    del notebook.cells[at(notebook, "setup")]
    result = rebuild(notebook, RELEASED)
    assert_sound(result)
    assert result.answers == ANSWERS
    assert any("put back (setup, softmax-values)" in note for note in result.notes)


def test_an_edited_graded_cell_counts_as_an_own_cell(notebook: NotebookNode) -> None:
    cell(notebook, "softmax-values").source = "check.values(lambda x: 1)"
    result = rebuild(notebook, RELEASED)
    assert_sound(result)
    assert own_sources(result) == ["check.values(lambda x: 1)"]
    assert any("had been changed (softmax-values)" in note for note in result.notes)


def test_what_was_added_to_the_setup_is_run(notebook: NotebookNode) -> None:
    cell(notebook, "setup").source += "\nfrom math import exp"
    cell(notebook, "softmax").source += "\nassert exp"
    result = rebuild(notebook, RELEASED)
    assert softmax_is_right(result)


@pytest.mark.parametrize("type_", ["markdown", "raw"])
def test_a_retyped_graded_cell_is_code_again(notebook: NotebookNode, type_: str) -> None:
    graded = cell(notebook, "softmax-values")
    graded.cell_type = type_
    result = rebuild(notebook, RELEASED)
    assert_sound(result)
    assert own(result) == []


def test_points_and_metadata_come_from_the_lesson(notebook: NotebookNode) -> None:
    cell(notebook, "softmax-values").metadata.nbgrader.points = 100
    cell(notebook, "softmax").metadata.nbgrader.update(grade=True, points=100, checksum="0")
    notebook.metadata = NotebookNode(title="<script>", kernelspec={"name": "bash"})
    assert_sound(rebuild(notebook, RELEASED))


def test_a_deleted_answer_is_not_written(notebook: NotebookNode) -> None:
    del notebook.cells[at(notebook, "softmax")]
    result = rebuild(notebook, RELEASED)
    assert_sound(result)
    assert result.answers == {**ANSWERS, "softmax": STUBS["softmax"]}
    assert any("softmax is not there and counts as not written" in note for note in result.notes)


@pytest.mark.parametrize("metadata", [{}, {"nbgrader": {}}, {"nbgrader": []}, {"tags": "demo"}])
def test_answers_without_metadata_are_found_by_their_names(
    notebook: NotebookNode, metadata: dict[str, Any]
) -> None:
    for one in notebook.cells:
        one.metadata = nbformat.from_dict(metadata)
    result = rebuild(notebook, RELEASED)
    assert_sound(result)
    assert result.answers == ANSWERS
    assert cell(result.notebook, "why-the-maximum").source == WRITTEN
    assert any("softmax_list, softmax" in note for note in result.notes)


def test_unmarked_answers_are_not_overruled_by_later_experiments(notebook: NotebookNode) -> None:
    for one in notebook.cells:
        one.metadata = NotebookNode()
    notebook.cells.append(code("def softmax(x): return 0"))
    result = rebuild(notebook, RELEASED)
    assert result.answers == ANSWERS
    assert own_sources(result)[-1] == "def softmax(x): return 0"
    assert softmax_is_right(result, "softmax-unchanged")


def test_of_a_copied_answer_the_last_one_counts(notebook: NotebookNode) -> None:
    wrong = copy.deepcopy(cell(notebook, "softmax"))
    wrong.source = "def softmax(scores, axis=-1): return scores"
    notebook.cells.insert(at(notebook, "softmax"), wrong)
    result = rebuild(notebook, RELEASED)
    assert_sound(result)
    assert result.answers["softmax"] == wrong.source + "\n" + ANSWERS["softmax"]
    assert softmax_is_right(result)
    assert any("more than one cell with the answer softmax;" in note for note in result.notes)


@pytest.mark.parametrize("line", range(1, ANSWERS["softmax"].count("\n") + 1))
def test_of_a_split_answer_both_halves_count(notebook: NotebookNode, line: int) -> None:
    lines = ANSWERS["softmax"].split("\n")
    first, second = cell(notebook, "softmax"), copy.deepcopy(cell(notebook, "softmax"))
    first.source, second.source = "\n".join(lines[:line]), "\n".join(lines[line:])
    notebook.cells.insert(at(notebook, "softmax") + 1, second)
    result = rebuild(notebook, RELEASED)
    assert_sound(result)
    assert result.answers == ANSWERS


def test_a_broken_copy_does_not_break_the_other(notebook: NotebookNode) -> None:
    broken = copy.deepcopy(cell(notebook, "softmax"))
    broken.source = "def softmax(scores, axis=-1:\n    return"
    notebook.cells.insert(at(notebook, "softmax"), broken)
    result = rebuild(notebook, RELEASED)
    assert result.answers == ANSWERS
    assert any("cannot be read as Python" in note for note in result.notes)


def test_a_copy_of_a_graded_cell_is_left_out(notebook: NotebookNode) -> None:
    notebook.cells.append(copy.deepcopy(cell(notebook, "softmax-values")))
    result = rebuild(notebook, RELEASED)
    assert_sound(result)
    assert own(result) == []
    assert result.notes == ("Copies of locked cells were left out (softmax-values).",)


def test_duplicated_cell_ids(notebook: NotebookNode) -> None:
    for one in notebook.cells:
        one.id = "same"
    notebook.cells.insert(5, code("x = 1"))
    result = rebuild(notebook, RELEASED)
    assert_sound(result)
    assert result.answers == ANSWERS


def test_an_answer_in_a_new_cell_below_its_stub(notebook: NotebookNode) -> None:
    cell(notebook, "softmax").source = STUBS["softmax"] + "\n"
    new = at(notebook, "softmax") + 1
    notebook.cells[new:new] = [
        code("def twice(f):\n    return f"),
        code("@twice\n" + ANSWERS["softmax"]),
    ]
    result = rebuild(notebook, RELEASED)
    assert_sound(result)
    assert result.answers["softmax"] == "@twice\n" + ANSWERS["softmax"]
    assert softmax_is_right(result)
    assert any("softmax was not in the cell" in note for note in result.notes)


@pytest.mark.parametrize("place", ["setup", "softmax_list", "softmax-axis", "break-masked"])
def test_an_answer_in_a_new_cell_anywhere(notebook: NotebookNode, place: str) -> None:
    cell(notebook, "softmax").source = STUBS["softmax"]
    notebook.cells.insert(at(notebook, place) + 1, code(ANSWERS["softmax"]))
    assert softmax_is_right(rebuild(notebook, RELEASED))


def test_a_broken_answer_without_metadata_is_found_by_its_look(notebook: NotebookNode) -> None:
    broken = ANSWERS["softmax"] + "\nprint('unfinished"
    notebook.cells[at(notebook, "softmax")] = code(broken)
    assert rebuild(notebook, RELEASED).answers["softmax"] == broken


def test_an_answer_after_a_magic_line_is_found(notebook: NotebookNode) -> None:
    magic = "%matplotlib inline\n" + ANSWERS["softmax"]
    notebook.cells[at(notebook, "softmax")] = code(magic)
    assert rebuild(notebook, RELEASED).answers["softmax"] == magic


def test_one_cell_at_the_top_that_defines_everything(notebook: NotebookNode) -> None:
    for name in ANSWERS:
        cell(notebook, name).source = STUBS[name]
    everything = "\n\n".join(ANSWERS.values())
    notebook.cells.insert(at(notebook, "setup") + 1, code(everything))
    result = rebuild(notebook, RELEASED)
    assert_sound(result)
    assert result.answers == {"softmax_list": everything, "softmax": ELSEWHERE}
    assert softmax_is_right(result)


def test_an_answer_that_an_earlier_one_needs_stays_where_it_was_written(
    notebook: NotebookNode,
) -> None:
    cell(notebook, "softmax").source = STUBS["softmax"]
    cell(notebook, "softmax_list").source = "softmax_list = lambda row: list(stable(row))"
    helper = "stable = lambda row: softmax(np.array(row))\n"
    notebook.cells.insert(at(notebook, "softmax_list"), code(helper + ANSWERS["softmax"]))
    result = rebuild(notebook, RELEASED)
    assert_sound(result)
    assert result.answers["softmax"] == ELSEWHERE
    assert softmax_is_right(result)
    assert names_at(result, "softmax_list-by-hand")["softmax_list"]([0.0, 0.0]) == [0.5, 0.5]


def test_an_answer_written_in_the_setup_cell(notebook: NotebookNode) -> None:
    cell(notebook, "setup").source += "\n" + ANSWERS["softmax"]
    cell(notebook, "softmax").source = STUBS["softmax"]
    result = rebuild(notebook, RELEASED)
    assert result.answers["softmax"] == ELSEWHERE
    assert softmax_is_right(result)


def test_an_answer_written_in_another_answers_cell(notebook: NotebookNode) -> None:
    cell(notebook, "softmax_list").source += "\n" + ANSWERS["softmax"]
    cell(notebook, "softmax").source = STUBS["softmax"]
    assert softmax_is_right(rebuild(notebook, RELEASED))


@pytest.mark.parametrize("place", [0, 9, -1])
def test_a_moved_answer_finds_its_helpers(notebook: NotebookNode, place: int) -> None:
    moved = notebook.cells.pop(at(notebook, "softmax"))
    moved.source = "@checked\n" + moved.source
    helpers = [
        code("from functools import wraps as keep"),
        code("def checked(f):\n    return keep(f)(lambda *a, **k: f(*a, **k))"),
    ]
    place = place % len(notebook.cells)
    notebook.cells[place:place] = [*helpers, moved]
    result = rebuild(notebook, RELEASED)
    assert_sound(result)
    assert softmax_is_right(result)


def test_own_cells_stand_where_they_stood(notebook: NotebookNode) -> None:
    notebook.cells.insert(0, code("first = 1"))
    notebook.cells.insert(at(notebook, "softmax-axis"), code("before_axis = 1"))
    notebook.cells.append(code("last = 1"))
    result = rebuild(notebook, RELEASED)
    assert_sound(result)
    order = [grade_id(one) or one.source for one in result.notebook.cells]
    assert order.index("first = 1") == order.index("setup") + 1
    assert order.index("before_axis = 1") == order.index("softmax-axis") - 1
    assert order[-1] == "last = 1"


def test_a_copied_check_does_not_drag_later_experiments_up(notebook: NotebookNode) -> None:
    notebook.cells.append(copy.deepcopy(cell(notebook, "softmax-values")))
    notebook.cells.append(code("def softmax(x): return 0"))
    assert softmax_is_right(rebuild(notebook, RELEASED), "softmax-unchanged")


@pytest.mark.parametrize("type_", ["markdown", "raw"])
def test_a_retyped_answer_is_read_as_code(notebook: NotebookNode, type_: str) -> None:
    cell(notebook, "softmax").cell_type = type_
    result = rebuild(notebook, RELEASED)
    assert_sound(result)
    assert result.answers == ANSWERS
    assert any("The type of the cell softmax had been changed" in note for note in result.notes)


def test_prose_in_a_retyped_answer_is_not_code(notebook: NotebookNode) -> None:
    cell(notebook, "softmax").update(cell_type="markdown", source="I could not do *this*.")
    result = rebuild(notebook, RELEASED)
    assert result.answers["softmax"] == STUBS["softmax"]
    assert own_sources(result) == ["I could not do *this*."]


def test_a_written_answer_typed_as_code_is_text(notebook: NotebookNode) -> None:
    cell(notebook, "why-the-maximum").cell_type = "code"
    result = rebuild(notebook, RELEASED)
    assert_sound(result)
    assert cell(result.notebook, "why-the-maximum").source == WRITTEN


def test_a_written_answer_below_its_empty_cell(notebook: NotebookNode) -> None:
    cell(notebook, "why-the-maximum").source = STUBS["why-the-maximum"]
    notebook.cells.insert(at(notebook, "why-the-maximum") + 1, text(WRITTEN))
    result = rebuild(notebook, RELEASED)
    assert cell(result.notebook, "why-the-maximum").source == WRITTEN
    assert own(result) == []


def test_a_split_written_answer_is_put_together(notebook: NotebookNode) -> None:
    second = copy.deepcopy(cell(notebook, "why-the-maximum"))
    second.source = "And more."
    notebook.cells.append(second)
    result = rebuild(notebook, RELEASED)
    assert cell(result.notebook, "why-the-maximum").source == WRITTEN + "\n\nAnd more."


def test_own_cells_lose_marks_outputs_and_attachments(notebook: NotebookNode) -> None:
    marks = {"grade": True, "solution": False, "locked": True, "points": 50, "schema_version": 3}
    graded = code("x = 1", nbgrader={**marks, "grade_id": "mine"})
    graded.outputs = [
        nbformat.v4.new_output("display_data", {"text/html": "<script>", "text/plain": "1"}),
        nbformat.v4.new_output("display_data", {"image/svg+xml": "<svg onload=alert(1)>"}),
    ]
    picture = text("![x](attachment:a.svg)<script>", nbgrader={**marks, "task": True})
    picture.attachments = {"a.svg": {"image/svg+xml": "<svg>"}}
    raw = nbformat.v4.new_raw_cell("<script>", metadata={"raw_mimetype": "text/html"})
    notebook.cells += [graded, picture, raw]
    result = rebuild(notebook, RELEASED)
    assert_sound(result)
    assert [one.get("outputs") for one in own(result)] == [
        [{"output_type": "display_data", "metadata": {}, "data": {"text/plain": "1"}}],
        None,
        None,
    ]
    assert own_sources(result)[2] == "< script>"
    assert any("(2)" in note and "no points" in note for note in result.notes)


def test_outputs_of_the_students_stand_only_at_answers(notebook: NotebookNode) -> None:
    printed = nbformat.v4.new_output("stream", text="\x1b[1mfull marks\x1b[0m")
    for one in notebook.cells:
        if one.cell_type == "code":
            one.outputs = [printed]
    result = rebuild(notebook, RELEASED)
    with_output = [grade_id(one) for one in result.notebook.cells if one.get("outputs")]
    assert with_output == ["guess-times-ten", "softmax_list", "softmax"]
    assert cell(result.notebook, "softmax").outputs[0].text == "full marks"


def test_student_markdown_is_harmless(notebook: NotebookNode) -> None:
    cell(notebook, "why-the-maximum").source = "<script>alert(1)</script>"
    notebook.cells.insert(4, text("[x](javascript:alert(1))"))
    result = rebuild(notebook, RELEASED)
    assert cell(result.notebook, "why-the-maximum").source == "< script>alert(1)< /script>"
    assert own_sources(result) == ["[x] (javascript:alert(1))"]


def test_an_older_release(notebook: NotebookNode) -> None:
    """It had an exercise more, a check under another name, two less, and another order."""
    del notebook.cells[at(notebook, "softmax-dtype")]
    del notebook.cells[at(notebook, "softmax_list")]
    cell(notebook, "softmax-low").metadata.nbgrader.grade_id = "softmax-below"
    gone = {"grade_id": "logsumexp", "solution": True, "locked": False, "schema_version": 3}
    notebook.cells.insert(9, code("def logsumexp(x): return 0", nbgrader=gone))
    notebook.cells.insert(5, notebook.cells.pop(at(notebook, "softmax")))
    result = rebuild(notebook, RELEASED)
    assert_sound(result)
    assert result.answers == {"softmax_list": STUBS["softmax_list"], "softmax": ANSWERS["softmax"]}
    assert own_sources(result) == ["def logsumexp(x): return 0"]
    assert len(result.notes) == 3


def test_a_notebook_of_another_course(notebook: NotebookNode) -> None:
    foreign = {"grade_id": "exercise-1", "solution": True, "schema_version": 3}
    other = node(cells=[code("print('hello')", nbgrader=foreign)])
    result = rebuild(other, RELEASED)
    assert_sound(result)
    assert result.answers == {name: STUBS[name] for name in ANSWERS}


@pytest.mark.parametrize("schema", [0, 1, 2, "2", None, 99])
def test_old_schemas(notebook: NotebookNode, schema: Any) -> None:
    for one in notebook.cells:
        if "nbgrader" in one.metadata:
            one.metadata.nbgrader = {"grade_id": grade_id(one), "schema_version": schema}
    result = rebuild(notebook, RELEASED)
    assert_sound(result)
    assert (result.answers, result.notes) == (ANSWERS, ())


# --- a small lesson ---------------------------------------------------------------------------


def released(cells: list[NotebookNode]) -> NotebookNode:
    for number, one in enumerate(cells):
        one.id = f"cell-{number}"
    return node(nbformat=4, nbformat_minor=5, metadata=node(), cells=cells)


def marked(name: str, **more: bool) -> dict[str, Any]:
    usual = {"grade": False, "solution": False, "locked": False, "schema_version": 3}
    return {**usual, **more, "grade_id": name}


def test_an_own_cell_below_the_second_of_two_equal_texts() -> None:
    stubs = [code(f"def {f}():\n    pass", nbgrader=marked(f, solution=True)) for f in "fg"]
    lesson = released([text("---"), stubs[0], text("---"), stubs[1]])
    student = copy.deepcopy(lesson)
    student.cells.insert(3, code("x = 1"))
    result = rebuild(student, lesson)
    assert [one.id for one in result.notebook.cells][2:4] == ["cell-2", "own-1"]


def test_an_import_in_a_stub_does_not_tell_the_answer() -> None:
    setup = code("import math", nbgrader=marked("setup", locked=True))
    stub = code("import math\ndef f():\n    pass", nbgrader=marked("f", solution=True))
    lesson = released([setup, stub])
    student = copy.deepcopy(lesson)
    student.cells.append(code("import math\nmath.pi"))
    result = rebuild(student, lesson)
    assert result.answers == {"f": stub.source}
    assert own_sources(result) == ["import math\nmath.pi"]


def test_a_lesson_without_setup_takes_own_cells_at_the_top() -> None:
    lesson = released([text("# One"), code("def f(): pass", nbgrader=marked("f", solution=True))])
    student = copy.deepcopy(lesson)
    student.cells.insert(0, code("x = 1"))
    assert rebuild(student, lesson).notebook.cells[0].source == "x = 1"


# --- laws -------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=50)
@given(st.permutations(range(len(RELEASED.cells))))
def test_no_order_of_the_cells_loses_an_answer(order: list[int]) -> None:
    notebook = handed_in()
    notebook.cells = [notebook.cells[index] for index in order]
    result = rebuild(notebook, RELEASED)
    assert_sound(result)
    assert result.answers == ANSWERS
    assert own(result) == []


@settings(deadline=None, max_examples=50)
@given(st.sets(st.sampled_from(range(len(RELEASED.cells)))), st.booleans())
def test_no_deletion_loses_another_answer(deleted: set[int], marked: bool) -> None:
    notebook = handed_in()
    kept = [one for index, one in enumerate(notebook.cells) if index not in deleted]
    left = {grade_id(one) for one in kept}
    for one in kept if not marked else ():
        one.metadata = NotebookNode()
    notebook.cells = kept
    result = rebuild(notebook, RELEASED)
    assert_sound(result)
    for name, source in ANSWERS.items():
        assert result.answers[name] == (source if name in left else STUBS[name])


@settings(deadline=None, max_examples=50)
@given(st.lists(st.sampled_from(range(len(RELEASED.cells))), max_size=9), st.randoms())
def test_copies_anywhere_leave_the_answers_right(copied: list[int], random: Any) -> None:
    notebook = handed_in()
    for one in [copy.deepcopy(notebook.cells[index]) for index in copied]:
        notebook.cells.insert(random.randrange(len(notebook.cells)), one)
    result = rebuild(notebook, RELEASED)
    assert_sound(result)
    assert own(result) == []
    assert softmax_is_right(result)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
known_ids = st.sampled_from([name for name in STUBS if name])
sources = st.one_of(
    json_values,
    st.sampled_from([one.source for one in RELEASED.cells] + list(ANSWERS.values())),
    st.sampled_from(["def softmax(x): return h(x)", "def h(x): return x", "softmax = (", "h(1)"]),
    st.lists(st.text(max_size=5) | st.just("softmax = 1\n"), max_size=3),
    st.text(alphabet=st.characters(), max_size=9),
)
marks = json_values | st.fixed_dictionaries(
    {},
    optional={
        "grade_id": known_ids | json_values,
        "grade": json_values,
        "solution": json_values,
        "points": json_values,
        "schema_version": json_values,
    },
)
soups = st.lists(
    json_values
    | st.fixed_dictionaries(
        {},
        optional={
            "cell_type": st.sampled_from(["code", "markdown", "raw", "heading"]) | json_values,
            "source": sources,
            "input": sources,
            "level": json_values,
            "id": json_values,
            "metadata": json_values
            | st.fixed_dictionaries({}, optional={"nbgrader": marks, "tags": json_values}),
            "outputs": json_values,
            "attachments": json_values,
        },
    ),
    max_size=8,
)


@settings(deadline=None, max_examples=400)
@given(soups, json_values, json_values)
def test_any_soup_of_cells_is_rebuilt(cells: list[Any], metadata: Any, minor: Any) -> None:
    document = {"nbformat": 4, "nbformat_minor": minor, "metadata": metadata, "cells": cells}
    result = rebuild(usable(json.loads(json.dumps(document))), RELEASED)
    assert_sound(result)
    json.dumps(result.notebook, ensure_ascii=False).encode("utf-8")
    assert all(note.endswith(".") and len(note) < 1500 for note in result.notes)


def test_a_large_notebook_takes_no_time(notebook: NotebookNode) -> None:
    notebook.cells += [
        code(f"softmax = h{n - 1}\ndef h{n}(): return h{n - 1}()") for n in range(MOST_CELLS - 60)
    ]
    start = time.process_time()
    result = rebuild(notebook, RELEASED)
    assert time.process_time() - start < 5
    assert_sound(result)


# --- reading files ----------------------------------------------------------------------------


@pytest.fixture
def written(tmp_path: Path) -> Callable[[Any], Path]:
    def write(content: Any) -> Path:
        path = tmp_path / "01-softmax.ipynb"
        content = content if isinstance(content, bytes | str) else json.dumps(content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


WHOLE = json.dumps(RELEASED)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"hello", "is not JSON"),
        (b"<html>404</html>", "is not JSON"),
        (WHOLE[:1000], "ends in the middle"),
        (WHOLE[:-1], "ends in the middle"),
        (WHOLE.encode("utf-16"), "not UTF-8"),
        (b"\xff\xfe\xfd", "not UTF-8"),
        (b"[]", "no notebook"),
        (b"3", "no notebook"),
        (b'{"cells": 3}', "no notebook"),
        (b'{"worksheets": [[], {}]}', "no notebook"),
        (b"[" * 100_000 + b"]" * 100_000, "no notebook has"),
        (b'{"cells": [' + b"9" * 10_000 + b"]}", "no notebook has"),
        ({"cells": [{}] * (MOST_CELLS + 1)}, f"has {MOST_CELLS + 1} cells"),
        (b" " * 2_000_000, "larger than 1 MB"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 40 else "",
)
def test_what_is_no_notebook_is_said_in_one_line(
    written: Callable[[Any], Path], content: Any, said: str
) -> None:
    path = written(content)
    with pytest.raises(CourseError) as error:
        read(path, largest=1_000_000)
    message = str(error.value)
    assert said in message
    assert message.startswith(str(path))
    assert "\n" not in message


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.ipynb"):
        with pytest.raises(CourseError, match="no such file"):
            read(path)


def test_a_notebook_with_a_byte_order_mark(written: Callable[[Any], Path]) -> None:
    assert rebuild(read(written(b"\xef\xbb\xbf" + WHOLE.encode())), RELEASED).notes == ()


@pytest.mark.parametrize("minor", [0, 4, 5, 99, None, "x"])
def test_any_minor_format(
    written: Callable[[Any], Path], notebook: NotebookNode, minor: Any
) -> None:
    notebook.nbformat_minor = minor
    for one in notebook.cells:
        del one["id"]
        one.source = one.source.splitlines(keepends=True)
    result = rebuild(read(written(notebook)), RELEASED)
    assert_sound(result)
    assert (result.answers, result.notes) == (ANSWERS, ())


def test_nbformat_3(written: Callable[[Any], Path], notebook: NotebookNode) -> None:
    old = nbformat.convert(notebook, 3)
    assert "worksheets" in old
    result = rebuild(read(written(old)), RELEASED)
    assert_sound(result)
    assert result.answers == ANSWERS


def test_nul_and_lone_surrogates_become_visible(written: Callable[[Any], Path]) -> None:
    cells = [{"cell_type": "code", "source": "a = 'x\0\ud800\U0001f600'", "metadata": {}}]
    result = rebuild(read(written({"nbformat": 4, "cells": cells})), RELEASED)
    assert own_sources(result) == ["a = 'x\ufffd\ufffd\U0001f600'"]


def test_a_picture_survives_the_way_through_a_file(
    written: Callable[[Any], Path], notebook: NotebookNode
) -> None:
    png = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR\0\0\0\1\0\0\0\1").decode()
    plot = code("plot()")
    plot.outputs = [nbformat.v4.new_output("display_data", {"image/png": png, "text/html": "<b>"})]
    notebook.cells.append(plot)
    result = rebuild(read(written(notebook)), RELEASED)
    assert own(result)[0].outputs[0].data == {"image/png": png}
