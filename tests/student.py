"""Plays the student: runs a lesson's cells with one's own answers, and reads the bank.

Plain exec in one namespace, as a kernel does it; the examiner has no part in it."""

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from grader import build, course
from grader import notebook as nb
from grader.classroom.nbgrader_plugin import without_markers
from grader.course import Lesson
from grader.lesson import Kind, exercises, grade_id, kind
from grader.names import names_bound
from tests.course_copy import ROOT

BANK = ROOT / "tests" / "bank"


@cache
def released(entry: Lesson) -> NotebookNode:
    """What students open."""
    return nb.read(entry.released)


@cache
def solved(entry: Lesson) -> NotebookNode:
    """The lesson as its author wrote it, solutions and all."""
    return build.read_source(entry)


def answers(entry: Lesson) -> dict[str, str]:
    """The author's own answers, by grade_id."""
    return {
        grade_id(cell) or "": without_markers(cell.source)
        for cell in solved(entry).cells
        if kind(cell) in (Kind.ANSWER, Kind.PREDICT, Kind.WRITTEN)
    }


def namespace(entry: Lesson) -> dict[str, Any]:
    """The names after running set-up and solved answer cells."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in solved(entry).cells:
        if kind(cell) in (Kind.SETUP, Kind.ANSWER):
            exec(compile(without_markers(cell.source), f"<{grade_id(cell)}>", "exec"), names)
    return names


def failed_cells(entry: Lesson, own: dict[str, Any]) -> dict[str, str]:
    """The graded cells that the lesson fails when `own` stands for the author's answers, with
    what each of them says."""
    names = namespace(entry) | own
    told = {}
    for cell in graded_cells(entry):
        try:
            last_value(cell.source, dict(names))
        except AssertionError as failure:
            told[grade_id(cell) or ""] = str(failure)
    return told


def graded_cells(entry: Lesson) -> list[NotebookNode]:
    """The graded code cells, from what students open."""
    return [cell for cell in released(entry).cells if kind(cell) is Kind.GRADED]


def last_value(source: str, names: dict[str, Any]) -> Any:
    """Run a cell; the value of its last expression."""
    *before, last = ast.parse(source).body
    assert isinstance(last, ast.Expr), f"{source!r} does not end in an expression"
    exec(compile(ast.Module(before, []), "<cell>", "exec"), names)
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)


# --- the bank -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Implementation:
    """One file of the bank: `exercise__name.py` below wrong/ or right/."""

    path: Path

    def __str__(self) -> str:
        return self.path.stem

    @property
    def exercise(self) -> str:
        return self.path.stem.partition("__")[0]

    @property
    def names(self) -> dict[str, Any]:
        """What the file defines, run anew as a student's cell."""
        names: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(self.path.read_text("utf-8"), str(self.path), "exec"), names)
        return {name: value for name, value in names.items() if not name.startswith("__")}

    @property
    def lesson(self) -> Lesson | None:
        """The lesson that has the exercise; for `heads__…` and such, one that it defines."""
        for wanted in ({self.exercise}, set(self.names)):
            for entry in course.lessons():
                if wanted & set(exercises(released(entry))):
                    return entry
        return None


def bank(verdict: str) -> list[Implementation]:
    """The implementations below wrong/ or right/, of exercises that a lesson has by now."""
    found = [Implementation(path) for path in sorted((BANK / verdict).glob("*.py"))]
    return [each for each in found if each.lesson]


def bound_by_answers(entry: Lesson) -> set[str]:
    """Every name that an answer cell of the lesson binds."""
    return {
        name
        for cell in solved(entry).cells
        if kind(cell) is Kind.ANSWER
        for name in names_bound(without_markers(cell.source))
    }
