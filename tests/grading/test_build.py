"""One source, and notebook, solution and table made from it: twice alike, and no drift unseen."""

import json
import shutil
from pathlib import Path

import pytest

from grader import build, course
from grader import notebook as nb
from grader.errors import CourseError
from tests.course_copy import run_cli

NAME = "01-softmax"


@pytest.fixture(scope="module")
def root(course_copy):
    """A course of two lessons: what holds for them holds for more, in a fraction of the time."""
    listed = course_copy / "source/course.toml"
    head, *lessons = listed.read_text("utf-8").split("[[lesson]]")
    listed.write_text("[[lesson]]".join([head, *lessons[:2]]), "utf-8")
    assert build.build(course_copy) == [Path("README.md")]  # its table is shorter now
    return course_copy


@pytest.fixture(scope="module")
def lesson(root):
    """The lesson of the copy, which may be changed."""
    return course.lesson(NAME, root)


@pytest.fixture
def touched(root):
    """Change a file for one test; it is put back afterwards."""
    kept = {}

    def touch(path, change):
        kept[path] = path.read_bytes()
        path.write_text(change(kept[path].decode("utf-8")), "utf-8")

    yield touch
    for path, content in kept.items():
        path.write_bytes(content)


def bytes_of(root):
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for folder in ("source", "notebooks", "solutions")
        for path in (root / folder).rglob("*")
        if path.is_file()
    } | {"README.md": (root / "README.md").read_bytes()}


# --- nothing to do ------------------------------------------------------------------------------


def test_what_is_committed_agrees(root):
    assert [str(each) for each in build.drift(root)] == []


def test_building_twice_gives_the_same_bytes(root):
    before = bytes_of(root)
    assert build.build(root) == []
    assert bytes_of(root) == before


def test_executing_anew_prints_the_same_text_and_gives_the_same_notebook(root, lesson):
    before = bytes_of(root)
    first, second = build.make_solution(lesson), build.make_solution(lesson)
    assert first == second
    assert build.drift(root, execute=True) == []
    assert bytes_of(root) == before


def test_the_check_says_so_in_one_line(root):
    done = run_cli(root, "build", "--check")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == "Lessons, notebooks and solutions agree."


# --- what was touched alone is found ------------------------------------------------------------


def in_cell(grade_id, change):
    """A change of a notebook: `change` is called with one of its cells."""

    def apply(text):
        notebook = json.loads(text)
        found = [
            cell
            for cell in notebook["cells"]
            if cell["metadata"].get("nbgrader", {}).get("grade_id") == grade_id
        ]
        change(found[0])
        return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"

    return apply


def edit_source(cell):
    cell["source"] = [*cell["source"], "\n# touched"]


def edit_output(cell):
    cell["outputs"][0]["text"] = ["another number\n"]


def edit_points(cell):
    cell["metadata"]["nbgrader"]["points"] = 99


TOUCHES = {
    "a lesson": ("source", lambda text: text.replace("Multiplying", "If you multiply", 1)),
    "a lesson's code": ("source", lambda text: text.replace("= max(row)", "=  max(row)")),
    "a lesson's form": ("source", lambda text: text.replace("\n+++\n", "\n\n+++\n", 1)),
    "a lesson's head": ("source", lambda text: text.replace("50 minutes", "55 minutes", 1)),
    "a notebook": ("released", in_cell("softmax", edit_source)),
    "a notebook's points": ("released", in_cell("softmax-axis", edit_points)),
    "a solution's source": ("solution", in_cell("softmax", edit_source)),
    "a solution's output": ("solution", in_cell("break-overflow", edit_output)),
    "a solution's stamp": ("solution", lambda text: text.replace('"content": "', '"content": "0')),
}  # fmt: skip


@pytest.mark.parametrize("what", TOUCHES)
def test_what_was_touched_alone_is_found(root, lesson, touched, what):
    attribute, change = TOUCHES[what]
    path = getattr(lesson, attribute)
    before = path.read_bytes()
    touched(path, change)
    assert path.read_bytes() != before
    assert build.drift(root), f"{what} was changed and nobody saw"


def test_a_touched_table_in_the_readme_is_found(root, touched):
    touched(root / "README.md", lambda text: text.replace("| Softmax |", "| Hardmax |"))
    assert [str(each.path) for each in build.drift(root)] == ["README.md"]


@pytest.mark.parametrize("attribute", ["released", "solution"])
def test_a_missing_file_is_found(root, lesson, attribute):
    path = getattr(lesson, attribute)
    aside = shutil.move(path, path.with_suffix(".aside"))
    try:
        assert [str(each) for each in build.drift(root)] == [
            f"{path.relative_to(root)}: is missing"
        ]
    finally:
        shutil.move(aside, path)


@pytest.mark.parametrize(
    "room", ["checks/softmax.py", "oracle.py", "observe.py", "figures/style.py"]
)
def test_a_changed_grader_makes_every_solution_stale(root, touched, room):
    touched(root / "grader" / room, lambda text: text + "\n# changed\n")
    solutions = [each.solution.relative_to(root) for each in course.lessons(root)]
    assert [each.path for each in build.drift(root)] == solutions


def test_drift_ends_with_the_mending_command_and_status_1(root, lesson, touched):
    touched(lesson.released, in_cell("softmax", edit_source))
    done = run_cli(root, "build", "--check")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"notebooks/{NAME}/{NAME}.ipynb: is not what its source gives",
        "Mend it with: python -m grader build",
    ]


def test_the_mending_command_mends(root, lesson, touched):
    before = bytes_of(root)
    touched(lesson.released, in_cell("softmax", edit_source))
    touched(root / "README.md", lambda text: text.replace("| Softmax |", "| Hardmax |"))
    assert build.build(root) == [lesson.released.relative_to(root), Path("README.md")]
    assert bytes_of(root) == before


# --- what build refuses -------------------------------------------------------------------------


def refused(root):
    with pytest.raises(CourseError) as caught:
        build.build(root)
    return str(caught.value)


def test_a_lesson_whose_solution_raises_is_refused(root, lesson, touched):
    before = lesson.solution.read_bytes()
    line = "temperatures = np.geomspace"
    touched(lesson.source, lambda text: text.replace(line, f"1 / 0\n{line}", 1))
    told = refused(root)
    assert "The solution of 01-softmax fails in cell measure-temperature" in told
    assert "ZeroDivisionError: division by zero" in told
    assert lesson.solution.read_bytes() == before


def test_an_answer_that_reads_a_name_of_a_demo_is_refused(root, lesson, touched):
    line = "    highest = max(row)\n"
    touched(lesson.source, lambda text: text.replace(line, f"    temperatures\n{line}", 1))
    assert refused(root) == (
        "source/01-softmax/01-softmax.md: 'softmax_list' reads 'temperatures', "
        "which only a demo or predict cell binds."
    )


def test_a_graded_cell_that_reads_a_guess_is_refused(root, lesson, touched):
    touched(lesson.source, lambda text: text.replace("check.axis(softmax)", "check.axis(guess)"))
    assert "'softmax-axis' reads 'guess'" in refused(root)


def test_a_listed_lesson_without_a_source_is_refused(root, touched):
    touched(root / "source/course.toml", lambda text: text.replace(NAME, "01-hardmax"))
    assert "01-hardmax.md is missing, and course.toml lists it." in refused(root)


def test_a_refusal_at_the_command_line_is_status_2_without_a_traceback(root, lesson, touched):
    touched(lesson.source, lambda text: text.replace("check.axis(softmax)", "check.axis(guess)"))
    done = run_cli(root, "build")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


# --- what is made -------------------------------------------------------------------------------


def test_cell_ids_come_from_names_and_places(lesson):
    for made in (lesson.released, lesson.solution):
        notebook = nb.read(made)
        for position, cell in enumerate(notebook.cells):
            name = cell.metadata.get("nbgrader", {}).get("grade_id")
            assert cell.id == (name or f"cell-{position}")


def test_nothing_of_the_tools_is_left_in_what_is_made(lesson):
    for made in (lesson.released, lesson.solution):
        metadata = nb.read(made).metadata
        assert "jupytext" not in metadata
        assert "language_info" not in metadata
        for cell in nb.read(made).cells:
            assert "execution" not in cell.metadata


def test_what_a_cell_prints_is_kept_in_one_piece():
    pieces = [("stdout", "✓ right"), ("stdout", "\n"), ("stderr", "warned"), ("stdout", "more")]
    outputs = [nb.node(output_type="stream", name=name, text=text) for name, text in pieces]
    cell = nb.node(cell_type="code", id="a", source="", metadata={}, outputs=outputs)
    notebook = nb.node(cells=[cell], metadata={}, nbformat=4, nbformat_minor=5)
    build.join_streams(notebook)
    assert [(each.name, each.text) for each in notebook.cells[0].outputs] == [
        ("stdout", "✓ right\n"),
        ("stderr", "warned"),
        ("stdout", "more"),
    ]
