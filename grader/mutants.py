"""Tests the tests: every known wrong implementation must lose points in a graded cell, every
right one must get them all. Grades through the engine; knows no check."""

import contextlib
import io
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from rich.box import SIMPLE_HEAD
from rich.table import Table

from grader import course, seeds, term
from grader import notebook as nb
from grader.errors import CourseError
from grader.examiner import jail
from grader.examiner.engine import PUBLIC_SECRET, Lesson, answer_names
from grader.examiner.settings import Settings
from grader.lesson import Kind, exercises, grade_id, kind
from grader.misconceptions import Family, families, rights
from grader.names import names_in
from grader.result import CellResult, Result, Status

NO_LESSON = "no lesson"
QUICK = Settings(call_seconds=1.0, cell_seconds=10.0, notebook_seconds=60.0)
ELSEWHERE = "# Defined above, with the rest of the implementation."


@dataclass(frozen=True)
class Wrong:
    """A wrong implementation: the graded cell that it failed in, and what it was called there."""

    exercise: str
    name: str
    killed_by: str | None
    misconception: str | None


@dataclass(frozen=True)
class Right:
    """A right implementation: its points, and the graded cells that it failed in."""

    exercise: str
    name: str
    points: float
    max_points: float
    failed: list[str]


@dataclass
class Report:
    """What became of every implementation."""

    wrong: list[Wrong] = field(default_factory=list)
    right: list[Right] = field(default_factory=list)

    @property
    def passes(self) -> bool:
        """Whether every wrong one was caught and every right one got all its points."""
        caught = all(wrong.killed_by for wrong in self.wrong)
        return caught and not any(right.failed for right in self.right)

    def as_json(self) -> dict[str, Any]:
        """The form that `--json` prints."""
        return {
            "wrong": [asdict(wrong) for wrong in self.wrong],
            "right": [asdict(right) for right in self.right],
        }


# --- a bank of files --------------------------------------------------------------------------


def of_bank(folder: Path, root: Path = course.ROOT) -> Report:
    """Grade every `exercise__name.py` in folder/wrong and folder/right."""
    files = [
        path for side in ("wrong", "right") for path in sorted((folder / side).glob("*__*.py"))
    ]
    if not files:
        raise CourseError(f"{folder} has no files like wrong/EXERCISE__NAME.py.")
    by_lesson = _by_lesson(files, root)
    jail.probe()  # once, before there are threads
    with ThreadPoolExecutor(os.cpu_count()) as pool, term.counted(len(files), "Grading") as count:
        parts = pool.map(partial(_graded, count=count), by_lesson, by_lesson.values())
        graded = [each for part in parts for each in part]
    report = Report()
    for path, result in graded:
        _note(report, path, result)
    return report


def _graded(
    entry: course.Lesson | None, files: list[Path], count: Callable[[], None]
) -> list[tuple[Path, Result | None]]:
    """What each file earns in the place of the right answer; `count` is called after each."""
    if entry is None:
        return [(path, None) for path in files]
    results: list[tuple[Path, Result | None]] = []
    with Lesson(entry, QUICK, jail.probe(), ahead=True) as lesson:
        solved = _solved_answers(entry)
        for path in files:
            results.append((path, lesson.grade(_with_file(solved, path, entry))))
            count()
    return results


def _by_lesson(files: list[Path], root: Path) -> dict[course.Lesson | None, list[Path]]:
    """The files of each lesson: the one with the exercise in the file's name, else the one whose
    answers bind a name that the file defines.
    """
    names = {entry: _names(entry) for entry in course.lessons(root)}
    found: dict[course.Lesson | None, list[Path]] = defaultdict(list)
    for path in files:
        exercise, defined = path.stem.partition("__")[0], _defined(path)
        owners = [entry for entry, known in names.items() if known & defined]
        owner = next((e for e in owners if exercise in names[e]), owners[0] if owners else None)
        found[owner].append(path)
    return found


def _names(entry: course.Lesson) -> set[str]:
    return set().union(*answer_names(nb.read(entry.solution)).values())


def _defined(path: Path) -> set[str]:
    return (names_in(path.read_text("utf-8")) or (set(), set()))[0]


def _solved_answers(entry: course.Lesson) -> dict[str, str]:
    return {
        grade_id(cell) or "": cell.source
        for cell in nb.read(entry.solution).cells
        if kind(cell) is Kind.ANSWER
    }


def _with_file(solved: dict[str, str], path: Path, entry: course.Lesson) -> dict[str, str]:
    """The solved answers with the file in place of those that bind what it defines."""
    defined = _defined(path)
    replaced = [
        name for name, bound in answer_names(nb.read(entry.solution)).items() if bound & defined
    ]
    first, *others = replaced
    return solved | {first: path.read_text("utf-8")} | dict.fromkeys(others, ELSEWHERE)


def _note(report: Report, path: Path, result: Result | None) -> None:
    exercise, _, name = path.stem.partition("__")
    if path.parent.name == "wrong":
        killed_by, called = _killer(result.graded) if result else (NO_LESSON, None)
        report.wrong.append(Wrong(exercise, name, killed_by, called))
    elif result:
        failed = [cell.grade_id for cell in result.graded if cell.status is not Status.PASSED]
        report.right.append(Right(exercise, name, result.points, result.max_points, failed))
    else:
        report.right.append(Right(exercise, name, 0.0, 0.0, []))


def _killer(cells: list[CellResult], expected: str | None = None) -> tuple[str | None, str | None]:
    """The failed cell that tells most: the first with the expected name, with any name, at all."""
    failed = [cell for cell in cells if cell.status is not Status.PASSED]
    as_expected = [cell for cell in failed if expected and cell.misconception == expected]
    named = [cell for cell in failed if cell.misconception]
    for cell in (*as_expected, *named, *failed):
        return cell.grade_id, cell.misconception
    return None, None


# --- the built-in misconceptions --------------------------------------------------------------


@dataclass(frozen=True)
class Tried:
    """One form of a misconception, what that is about, and the graded cells that it failed in."""

    exercise: str
    family: str
    about: frozenset[str]
    number: int
    failed: list[CellResult]

    def as_wrong(self) -> Wrong:
        """The cell that tells most of what it was caught by."""
        killed_by, called = _killer(self.failed, self.family)
        return Wrong(self.exercise, f"{self.family}, form {self.number}", killed_by, called)


def of_misconceptions(root: Path = course.ROOT) -> Report:
    """Run every form of every misconception through the graded cells of its lesson.

    Forms are functions of this process, so they are graded here; that the examiner gives the
    same verdict and message is what `observe` is made for, and tested.
    """
    return Report([tried.as_wrong() for tried in forms(root)])


def forms(root: Path = course.ROOT) -> list[Tried]:
    """What became of every form of every misconception; as many lessons at once as cores."""
    with ProcessPoolExecutor() as pool:
        return [tried for each in pool.map(forms_of, course.lessons(root)) for tried in each]


def forms_of(entry: course.Lesson) -> list[Tried]:
    """The same for one lesson, in this process."""
    names, cells = _ready(entry)
    names |= {exercise: rights(exercise) for exercise in cells if families(exercise)}
    return [
        Tried(
            exercise,
            family.name,
            family.about,
            number,
            _failed(names | {exercise: form}, graded, family),
        )
        for exercise, graded in cells.items()
        for family in families(exercise)
        for number, form in enumerate(family.forms, 1)
    ]


def _failed(names: dict[str, Any], cells: list[NotebookNode], family: Family) -> list[CellResult]:
    """What fails with these names. A cell tagged `slow`, which takes a second where the others
    take milliseconds, is run only for a form that no other one has caught and named."""
    slow = [cell for cell in cells if "slow" in cell.metadata.get("tags", ())]
    failed = list(_failures(names, [cell for cell in cells if cell not in slow]))
    if any(each.misconception == family.name for each in failed):
        return failed
    return failed + list(_failures(names, slow))


def _ready(entry: course.Lesson) -> tuple[dict[str, Any], dict[str, list[NotebookNode]]]:
    """The names after a lesson's set-up, and the graded cells of each exercise."""
    released = nb.read(entry.released)
    names: dict[str, Any] = {"__name__": "mutants"}
    for cell in released.cells:
        if kind(cell) is Kind.SETUP:
            exec(compile(cell.source, "<set-up>", "exec"), names)
    graded = {
        exercise: [cell for cell in cells if kind(cell) is Kind.GRADED]
        for exercise, cells in exercises(released).items()
    }
    return names, graded


def _failures(names: dict[str, Any], cells: list[NotebookNode]) -> Iterator[CellResult]:
    """The graded cells that fail with these names, under either seed."""
    for cell in cells:
        for secret in (b"", PUBLIC_SECRET):
            seeds.fold_in(secret)
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(cell.source, "<cell>", "exec"), dict(names))
            except AssertionError as failed:
                called = getattr(failed, "misconception", None)
                status = Status(getattr(failed, "status", "failed"))
                name = grade_id(cell) or ""
                yield CellResult("", name, 0.0, 0.0, status, str(failed), called)
                break
    seeds.fold_in(b"")


# --- what people read -------------------------------------------------------------------------


def show(report: Report) -> None:
    """Print totals by exercise, then every survivor and every right one that lost points."""
    table = Table("exercise", box=SIMPLE_HEAD)
    for column in ("wrong", "caught", "named", "right", "full points"):
        table.add_column(column, justify="right")
    for exercise, row in totals(report).items():
        table.add_row(exercise, *map(str, row))
    term.out.print(table)
    for wrong in report.wrong:
        if wrong.killed_by is None:
            term.out.print(f"✗ survived: {wrong.exercise}, {wrong.name}", markup=False)
    for right in report.right:
        if right.failed:
            lost = ", ".join(right.failed)
            term.out.print(f"✗ lost points: {right.exercise}, {right.name}: {lost}", markup=False)
    without = [wrong for wrong in report.wrong if wrong.killed_by == NO_LESSON]
    if without:
        names = ", ".join(sorted({wrong.exercise for wrong in without}))
        term.out.print(f"{len(without)} wrong ones belong to no lesson yet: {names}.", markup=False)


def totals(report: Report) -> dict[str, tuple[int, int, int, int, int]]:
    """By exercise: wrong ones, caught, named; right ones, with full points. Without `no lesson`."""
    rows: dict[str, list[int]] = defaultdict(lambda: [0] * 5)
    for wrong in report.wrong:
        if wrong.killed_by != NO_LESSON:
            counts = (1, wrong.killed_by is not None, wrong.misconception is not None)
            for column, count in enumerate(counts):
                rows[wrong.exercise][column] += count
    for right in report.right:
        if right.max_points:
            rows[right.exercise][3] += 1
            rows[right.exercise][4] += not right.failed
    return {exercise: tuple(row) for exercise, row in rows.items()}  # type: ignore[misc]
