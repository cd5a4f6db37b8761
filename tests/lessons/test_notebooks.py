"""What every lesson promises to its student and its author, whichever lesson it is."""

import ast
import re
import sys
import types
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import nbclient
import pytest
from nbformat import NotebookNode

from grader import course
from grader import notebook as nb
from grader.classroom.nbgrader_plugin import without_markers, without_solution
from grader.course import Lesson
from grader.lesson import Kind, grade_id, kind, points
from grader.names import names_bound
from tests.course_copy import environment
from tests.student import (
    bound_by_answers,
    graded_cells,
    last_value,
    namespace,
    released,
    solved,
)

SHORTEST_TELLING_LINE = 13
LONGEST_LINE = 100
MOST_LINES = 20
NOT_WRITTEN = ("NotWritten", "NotImplementedError")
EMPTY_LINK_TEXTS = {"", "here", "this", "link", "click here"}


def code_cells(notebook: NotebookNode, *kinds: Kind) -> list[NotebookNode]:
    return [
        cell
        for cell in notebook.cells
        if cell.cell_type == "code" and (not kinds or kind(cell) in kinds)
    ]


def texts(notebook: NotebookNode) -> list[str]:
    """The Markdown cells, without what stands in code fences."""
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    return [re.sub(r"```.*?```", "", source, flags=re.DOTALL) for source in cells]


# --- an untouched notebook ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, NotebookNode]:
    """Every released notebook after *Run all*, by lesson."""
    return {
        entry.name: run_all(entry, tmp_path_factory.mktemp(entry.name))
        for entry in course.lessons()
    }


def run_all(entry: Lesson, folder: Path) -> NotebookNode:
    notebook = nb.read(entry.released)
    client = nbclient.NotebookClient(
        notebook, timeout=60, kernel_name="python3", allow_errors=True, record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    )  # fmt: skip
    client.execute(env=environment(entry.root, home=folder))
    return notebook


def errors(cell: NotebookNode) -> list[NotebookNode]:
    return [output for output in cell.get("outputs", []) if output.output_type == "error"]


def unexplained_errors(notebook: NotebookNode) -> Iterator[str]:
    """Errors that are neither a stub's own nor a name missing because its cell failed."""
    missing: set[str] = set()
    for cell in code_cells(notebook):
        for error in errors(cell):
            name = re.match(r"name '(\w+)' is not defined", error.evalue)
            follows = error.ename == "NameError" and name and name[1] in missing
            if error.ename not in NOT_WRITTEN and not follows:
                yield f"{grade_id(cell)}: {error.ename}: {error.evalue}"
            missing |= names_bound(cell.source)


def test_an_untouched_notebook_fails_only_where_nothing_is_written(executed, entry):
    assert list(unexplained_errors(executed[entry.name])) == []


def test_in_an_untouched_notebook_every_graded_cell_says_not_written(executed, entry):
    for cell in code_cells(executed[entry.name], Kind.GRADED):
        assert [error.ename for error in errors(cell)] == ["NotWritten"], grade_id(cell)


def test_in_an_untouched_notebook_set_up_and_answer_cells_run(executed, entry):
    for cell in code_cells(executed[entry.name], Kind.SETUP, Kind.ANSWER, Kind.PREDICT):
        assert errors(cell) == [], grade_id(cell)


def test_an_unexplained_error_would_be_found():
    def failing(source: str, ename: str, evalue: str) -> dict[str, Any]:
        output = {"output_type": "error", "ename": ename, "evalue": evalue, "traceback": []}
        return {"cell_type": "code", "source": source, "metadata": {}, "outputs": [output]}

    cells = [
        failing("w = f()", "NotImplementedError", ""),
        failing("print(w)", "NameError", "name 'w' is not defined"),
        failing("print(v)", "NameError", "name 'v' is not defined"),
        failing("1 / 0", "ZeroDivisionError", "division by zero"),
    ]
    found = list(unexplained_errors(nb.node(cells=cells)))
    assert [text.partition(": ")[2].partition(":")[0] for text in found] == [
        "NameError",
        "ZeroDivisionError",
    ]


# --- nothing of a solution is in it -------------------------------------------------------------


def solution_lines(entry: Lesson) -> set[str]:
    """The telling lines of all solution and rubric regions of one lesson."""
    lines = set()
    for cell in solved(entry).cells:
        inside = False
        for line in cell.source.split("\n"):
            inside = (inside or "BEGIN SOLUTION" in line) and "END SOLUTION" not in line
            if inside and "BEGIN SOLUTION" not in line:
                lines.add(line.strip())
    return {line for line in lines if len(line) >= SHORTEST_TELLING_LINE}


def shown_code(entry: Lesson) -> str:
    """The code that the author shows on purpose: stubs, set-up, demonstrations, tests."""
    return "\n".join(without_solution(cell.source) for cell in code_cells(solved(entry)))


def strings(node: Any) -> Iterator[str]:
    """Every string of a notebook, wherever in the JSON it stands, keys included."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict):
        for key, value in node.items():
            yield from (key, *strings(value))
    elif isinstance(node, list):
        for value in node:
            yield from strings(value)


def leaked(entry: Lesson, notebook: NotebookNode) -> list[str]:
    """Lines of this lesson's or a later one's regions that are to be read in `notebook`."""
    entries = course.lessons()
    later = entries[entries.index(entry) :]
    secret = set().union(*map(solution_lines, later))
    known = set().union(*map(solution_lines, entries[: entries.index(entry)]))
    text, shown = "\n".join(strings(notebook)), shown_code(entry)
    return [line for line in secret - known if line in text and line not in shown]


def test_no_solution_of_its_own_or_a_later_lesson_and_no_rubric_is_in_a_notebook(entry):
    assert solution_lines(entry)
    assert leaked(entry, released(entry)) == []


def test_a_leak_would_be_found_wherever_it_is(entry):
    line = max(solution_lines(entry), key=len)
    for place in ("source", "metadata"):
        notebook = nb.parse(nb.text_of(released(entry)))
        notebook.cells[-1][place] = line if place == "source" else {"hint": [line]}
        assert leaked(entry, notebook) == [line]


def test_no_word_of_a_region_mark_is_left(entry):
    text = "\n".join(strings(released(entry)))
    for mark in ("BEGIN SOLUTION", "END SOLUTION", "HIDDEN TESTS", "Rubric"):
        assert mark not in text


# --- its cells ----------------------------------------------------------------------------------


def test_the_first_cell_names_its_source(entry):
    source = entry.source.relative_to(entry.root).as_posix()
    assert f"`{source}`" in released(entry).cells[0].source
    assert entry.source.exists()


def test_every_graded_cell_ends_in_a_call_of_a_check_that_gives_none(entry, capsys):
    for cell in graded_cells(entry):
        names = namespace(entry)
        last = ast.parse(cell.source).body[-1]
        assert isinstance(last, ast.Expr) and isinstance(last.value, ast.Call), grade_id(cell)
        check = eval(ast.unparse(last.value.func), names)
        assert isinstance(check, types.FunctionType)
        assert check.__module__.startswith("grader.checks."), grade_id(cell)
        assert last_value(cell.source, names) is None, grade_id(cell)
        assert capsys.readouterr().out.startswith("✓ "), grade_id(cell)


def test_every_check_of_a_lesson_is_asked_in_a_graded_cell(entry):
    names = namespace(entry)
    modules = {m for m in names.values() if getattr(m, "__name__", "").startswith("grader.checks.")}
    asked = "\n".join(cell.source for cell in graded_cells(entry))
    for module in modules:
        checks = [
            name
            for name, value in vars(module).items()
            if isinstance(value, types.FunctionType)
            and value.__module__ == module.__name__
            and hasattr(value, "__wrapped__")  # made a check by @graded
        ]
        assert [name for name in checks if f".{name}(" not in asked] == []


def test_every_graded_cell_is_worth_whole_points(entry):
    for cell in graded_cells(entry):
        assert points(cell) >= 1 and points(cell) == int(points(cell)), grade_id(cell)


def test_set_up_imports_the_standard_library_numpy_checks_and_figures(entry):
    allowed = {*sys.stdlib_module_names, "numpy"}
    for cell in code_cells(solved(entry), Kind.SETUP):
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.Import):
                names = {alias.name.partition(".")[0] for alias in node.names}
                assert names <= allowed, grade_id(cell)
            if isinstance(node, ast.ImportFrom) and node.module == "grader":
                assert {alias.name for alias in node.names} <= {"figures"}, grade_id(cell)
            elif isinstance(node, ast.ImportFrom):
                assert (node.module or "").partition(".")[0] in allowed or (
                    node.module == "grader.checks"
                ), grade_id(cell)


def test_the_student_builds_two_to_five_functions(entry):
    assert 2 <= len(bound_by_answers(entry)) <= 5


def test_above_every_answer_stand_how_hard_how_long_and_a_folded_hint(entry):
    cells = released(entry).cells
    for position, cell in enumerate(cells):
        if kind(cell) is Kind.ANSWER:
            above = []
            for earlier in reversed(cells[:position]):
                if earlier.cell_type == "code":
                    break
                above.append(earlier.source)
            told = "\n".join(above)
            assert re.search(r"^(●○○|●●○|●●●) · \d+ minutes$", told, re.MULTILINE), grade_id(cell)
            assert re.search(r"<details>\s*<summary>.*Hint", told), grade_id(cell)


def test_every_answer_cell_has_a_docstring_with_an_example(entry):
    for cell in code_cells(released(entry), Kind.ANSWER):
        for node in ast.parse(cell.source).body:
            if isinstance(node, ast.FunctionDef):
                assert ">>>" in (ast.get_docstring(node) or ""), node.name


def test_under_every_figure_stands_what_to_see(entry):
    cells = released(entry).cells
    drawn = [i for i, cell in enumerate(cells) if "figures." in cell.source and kind(cell)]
    figures = [i for i in drawn if kind(cells[i]) is Kind.DEMO]
    assert figures
    for position in figures:
        assert "What to see" in cells[position + 1].source, grade_id(cells[position])


def test_code_is_short_enough_to_read(entry):
    for cell in code_cells(solved(entry)):
        lines = without_markers(cell.source).split("\n")
        assert max(map(len, lines)) <= LONGEST_LINE, grade_id(cell)
        if kind(cell) in (Kind.DEMO, Kind.PREDICT):  # set-up may hold what earlier lessons built
            assert len(lines) <= MOST_LINES, grade_id(cell)


# --- its text -----------------------------------------------------------------------------------


def heading_levels(notebook: NotebookNode) -> list[int]:
    found = re.findall(r"^(#+) \S", "\n".join(texts(notebook)), re.MULTILINE)
    return [len(marks) for marks in found]


def test_there_is_one_title_and_no_heading_level_is_skipped(entry):
    levels = heading_levels(released(entry))
    assert levels[0] == 1 and levels.count(1) == 1
    for above, below in pairwise(levels):
        assert below <= above + 1


def test_every_picture_has_a_text_and_every_link_says_where_it_goes(entry):
    text = "\n".join(texts(released(entry)))
    for alternative in re.findall(r"!\[(.*?)\]\(", text):
        assert alternative.strip()
    for tag in re.findall(r"<img[^>]*>", text):
        assert re.search(r'alt="[^"]+"', tag), tag
    for words, target in re.findall(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)", text):
        assert words.strip().lower() not in EMPTY_LINK_TEXTS, target
        if not re.match(r"https?://|#|mailto:", target):
            assert (entry.released.parent / target).exists(), target


def test_every_fold_is_closed_and_has_a_summary(entry):
    for text in texts(released(entry)):
        folds = text.count("<details>")
        assert folds == text.count("</details>") == len(re.findall(r"<summary>.+</summary>", text))


def test_every_table_has_a_head(entry):
    for text in texts(released(entry)):
        for table in re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE):
            assert re.fullmatch(r"[|:\- ]+", table.split("\n")[1]), table


# --- its solution -------------------------------------------------------------------------------


def test_the_solution_ran_from_top_to_bottom_without_an_error(entry):
    cells = code_cells(nb.read(entry.solution))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert [grade_id(cell) for cell in cells if errors(cell)] == []


def test_the_solution_shows_every_figure_and_every_tick(entry):
    for cell in code_cells(nb.read(entry.solution)):
        if kind(cell) is Kind.DEMO and "figures." in cell.source:
            kinds = {key for output in cell.outputs for key in output.get("data", {})}
            assert "image/png" in kinds, grade_id(cell)
        if kind(cell) is Kind.GRADED:
            assert cell.outputs[0].text.startswith("✓ "), grade_id(cell)
