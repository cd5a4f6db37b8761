"""`grader check`: notebooks graded as their student wants it, one report for each.

Finds out which lesson a notebook is; grading is the examiner's."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from rich.table import Table
from rich.text import Text

from grader import course, term
from grader import notebook as nb
from grader.errors import CourseError
from grader.examiner import jail, submission
from grader.examiner.engine import AnyLesson, open_lesson
from grader.lesson import grade_id
from grader.result import CellResult, Result, Status

WORDS = {
    Status.PASSED: ("✓", "passed", "green"),
    Status.FAILED: ("✗", "failed", "red"),
    Status.NOT_WRITTEN: ("·", "not written yet", "dim"),
    Status.ERROR: ("✗", "error", "red"),
    Status.TIMEOUT: ("✗", "too slow", "red"),
    Status.BY_HAND: ("·", "graded by hand", "dim"),
    Status.NOT_GRADED: ("✗", "not graded", "red"),
}


def own_notebooks(root: Path = course.ROOT) -> list[Path]:
    """The student's own copies in work/, in the order of the course."""
    found = [entry.own_copy for entry in course.lessons(root) if entry.own_copy.exists()]
    if not found:
        raise CourseError("There is no lesson in work/ yet. Copy them there with: make lab")
    return found


class Checker:
    """Grades notebooks one after another; a lesson's servers stay warm until it is closed.

    Student code is one's own here, so it runs at whatever level the jail works on this machine.
    """

    def __init__(self, root: Path = course.ROOT) -> None:
        self.root = root
        self.report = jail.probe()
        self._ready: dict[str, AnyLesson] = {}
        self._stack = ExitStack()

    def __enter__(self) -> "Checker":
        return self

    def __exit__(self, *_: Any) -> None:
        self._stack.close()

    def check(self, path: Path) -> Result:
        """Grade one notebook. Raises CourseError when it is missing, broken or of no lesson."""
        submitted = submission.read(path)
        entry = lesson_of(submitted, path, self.root)
        if entry.name not in self._ready:
            lesson: AnyLesson = open_lesson(entry, report=self.report)
            self._stack.enter_context(lesson)
            self._ready[entry.name] = lesson
        return self._ready[entry.name].examine_submission(submitted)


def lesson_of(notebook: NotebookNode, path: Path, root: Path) -> course.Lesson:
    """The lesson with which the notebook shares most cell names."""
    names = {grade_id(cell) for cell in notebook.cells} - {None}
    shared = {
        entry: len(names & {grade_id(cell) for cell in nb.read(entry.released).cells})
        for entry in course.lessons(root)
    }
    best = max(shared, key=lambda entry: (shared[entry], entry.name == path.stem))
    if not shared[best] and not path.stem.startswith(best.name):
        raise CourseError(f"{path} is no lesson of this course: it has none of their cells.")
    return best


# --- the report -------------------------------------------------------------------------------


def show(result: Result) -> None:
    """Print one lesson: a table by exercise, then the message of each failed check."""
    table = Table("exercise", "points", "", title=result.lesson, title_justify="left", box=None)
    for exercise, cells in result.by_exercise():
        table.add_row(exercise, _points(cells), _summary(cells))
    term.out.print(table)
    if result.reason:
        term.out.print(Text(f"Not graded: {result.reason}."))
    for note in result.notes:
        term.out.print(Text(f"Note: {note}"))
    for cell in result.cells:
        if cell.status in (Status.FAILED, Status.ERROR, Status.TIMEOUT):
            term.out.print()
            term.out.print(Text(cell.message))
    term.out.print()


def _points(cells: list[CellResult]) -> str:
    worth = sum(cell.max_points for cell in cells)
    if cells[0].points is None:
        return f"  – / {worth:g}"
    return f"{sum(cell.points or 0 for cell in cells):3g} / {worth:g}"


def _summary(cells: list[CellResult]) -> Text:
    """One mark a cell, then what is wrong in a few words."""
    line = Text()
    for cell in cells:
        mark, _, colour = WORDS[cell.status]
        line.append(mark, colour)
    told = [cell.few_words for cell in cells if cell.status is not Status.PASSED and cell.message]
    words = dict.fromkeys(told or [WORDS[cells[0].status][1]])
    return line.append("  " + "; ".join(words))


def show_replay(result: Result, name: str) -> None:
    """Print one graded cell: the failing call, both answers, and by what they were made."""
    found = [cell for cell in result.cells if cell.grade_id == name]
    if not found:
        known = ", ".join(cell.grade_id for cell in result.cells)
        raise CourseError(f"{result.lesson} has no graded cell {name!r}. It has: {known}.")
    term.out.print(Text(found[0].message or f"{name} {found[0].status}: there is no failing call."))
    told = ", ".join(f"{what} {value}" for what, value in result.provenance.items())
    term.out.print(Text(f"\nMade by: {told}."))


def show_all(results: list[Result]) -> None:
    """Print every lesson, then how far the student is, then how the code was run."""
    for result in results:
        show(result)
    _show_progress(results)
    term.out.print(Text(jail.probe().sentence))


def _show_progress(results: list[Result], root: Path = course.ROOT) -> None:
    """Print how far the student is in the whole course."""
    entries = course.lessons(root)
    passed = {result.lesson for result in results if result.status is Status.PASSED}
    points = sum(result.points for result in results)
    worth = sum(result.max_points for result in results)
    term.out.print(
        f"{len(passed)} of {len(entries)} lessons complete, "
        f"{points:g} of {worth:g} points in the {len(results)} checked."
    )
