"""A lesson's notebook as cells: which kind each one is, and whose exercise.

Reads notebooks and nothing else; what a lesson must not do is said in `faults`."""

from collections.abc import Iterator
from copy import deepcopy
from enum import StrEnum
from typing import Any

from nbformat import NotebookNode

from grader.errors import CourseError
from grader.names import names_bound, names_read


class Kind(StrEnum):
    """What a cell is for; grading treats each kind in its own way."""

    TEXT = "text"
    SETUP = "setup"
    ANSWER = "answer"
    PREDICT = "predict"
    GRADED = "graded"
    DEMO = "demo"
    WRITTEN = "written"


BY_STUDENTS = (Kind.ANSWER, Kind.PREDICT, Kind.WRITTEN)


def kind(cell: NotebookNode) -> Kind | None:
    """The kind of an instructor's cell; None for a code cell that is none of them."""
    marks = cell.metadata.get("nbgrader", {})
    tags = cell.metadata.get("tags", [])
    if cell.cell_type != "code":
        return Kind.WRITTEN if marks.get("grade") and marks.get("solution") else Kind.TEXT
    if marks.get("solution"):
        return Kind.PREDICT if "predict" in tags else Kind.ANSWER
    if marks.get("grade"):
        return Kind.GRADED
    if marks.get("locked"):
        return Kind.DEMO if "demo" in tags else Kind.SETUP
    return None


def grade_id(cell: NotebookNode) -> str | None:
    """nbgrader's name for the cell, if it has one."""
    found = cell.metadata.get("nbgrader", {}).get("grade_id")
    return found if isinstance(found, str) else None


def points(cell: NotebookNode) -> float:
    """The points a graded or written cell is worth."""
    return float(cell.metadata["nbgrader"].get("points", 0))


def node(**fields: Any) -> NotebookNode:
    """A part of a notebook: the notebook itself, a cell, its metadata, an output."""
    return NotebookNode(**fields)  # type: ignore[no-untyped-call]


def exercises(notebook: NotebookNode) -> dict[str, list[NotebookNode]]:
    """Each exercise with the cells that grade it, in notebook order.

    A graded cell belongs to the answer cell closest above it; a written answer is its own.
    """
    found: dict[str, list[NotebookNode]] = {}
    current = ""
    for cell in notebook.cells:
        match kind(cell):
            case Kind.ANSWER:
                current = grade_id(cell) or ""
                found.setdefault(current, [])
            case Kind.GRADED:
                found[current].append(cell)
            case Kind.WRITTEN:
                found[grade_id(cell) or ""] = [cell]
    return found


def with_answers(released: NotebookNode, answers: dict[str, str]) -> NotebookNode:
    """A copy of a released lesson with these answers (grade_id → source) laid into it."""
    notebook = deepcopy(released)
    for cell in notebook.cells:
        if kind(cell) in BY_STUDENTS:
            cell.source = answers.get(grade_id(cell) or "", cell.source)
    return notebook


def demo_only_names(notebook: NotebookNode) -> set[str]:
    """Names that only a demo or predict cell binds: grading never has them."""
    bound: dict[bool, set[str]] = {True: set(), False: set()}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            bound[kind(cell) in (Kind.DEMO, Kind.PREDICT)] |= names_bound(cell.source)
    return bound[True] - bound[False]


def faults(notebook: NotebookNode) -> list[str]:
    """What is wrong with the form of a lesson, a sentence each; empty when all is well."""
    return [*_cell_faults(notebook), *_id_faults(notebook), *_demo_faults(notebook)]


def _cell_faults(notebook: NotebookNode) -> Iterator[str]:
    for position, cell in enumerate(notebook.cells):
        where = f"cell {position} ({grade_id(cell) or cell.source[:30]!r})"
        if kind(cell) is None:
            yield f"{where} is code of no kind: lock it, tag it demo, or make it an answer"
        if kind(cell) is Kind.GRADED and not cell.source.rstrip().endswith(")"):
            yield f"{where} must end in a call of a check, whose value is None"
        if kind(cell) in BY_STUDENTS and not _has_region(cell):
            yield f"{where} has no BEGIN SOLUTION … END SOLUTION region"


def _has_region(cell: NotebookNode) -> bool:
    return "BEGIN SOLUTION" in cell.source and "END SOLUTION" in cell.source


def _id_faults(notebook: NotebookNode) -> Iterator[str]:
    seen: set[str] = set()
    for cell in notebook.cells:
        name = grade_id(cell)
        if name in seen:
            yield f"the grade_id {name!r} is there twice"
        seen.add(name or "")
    if any(kind(cell) is Kind.GRADED for cell in _before_first_answer(notebook)):
        yield "a graded cell stands before the first answer cell"


def _before_first_answer(notebook: NotebookNode) -> Iterator[NotebookNode]:
    for cell in notebook.cells:
        if kind(cell) is Kind.ANSWER:
            return
        yield cell


def _demo_faults(notebook: NotebookNode) -> Iterator[str]:
    missing = demo_only_names(notebook)
    for cell in notebook.cells:
        if kind(cell) in (Kind.ANSWER, Kind.GRADED, Kind.SETUP):
            for name in sorted(names_read(cell.source) & missing):
                yield f"{grade_id(cell)!r} reads {name!r}, which only a demo or predict cell binds"


def require_sound(notebook: NotebookNode, where: str) -> None:
    """Raise a CourseError that lists the faults of `notebook`, if it has any."""
    found = faults(notebook)
    if found:
        raise CourseError(f"{where}: " + "; ".join(found) + ".")
