"""The sample class: small files of answers, from which submissions are built when needed.

Generated notebooks would go stale with every change of a lesson; these few lines do not."""

import tomllib
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

from grader import notebook as nb
from grader.classroom.nbgrader_plugin import without_markers
from grader.course import Lesson
from grader.errors import CourseError
from grader.lesson import Kind, grade_id, kind


@dataclass(frozen=True)
class Sample:
    """One sample student: what is peculiar, where the other answers come from, and own cells.

    `base` is "solved" or "released". Of several cells with one grade_id, the first replaces the
    answer cell and the others follow it as copies.
    """

    student: str
    what: str
    base: str
    cells: tuple[dict[str, str], ...]


def samples(entry: Lesson) -> list[Sample]:
    """The sample students of a lesson, in order."""
    return [_read(path) for path in sorted(entry.samples.glob("*.toml"))]


def _read(path: Path) -> Sample:
    try:
        told = tomllib.loads(path.read_text("utf-8"))
        return Sample(path.stem, told["what"], told["base"], tuple(told.get("cell", ())))
    except (tomllib.TOMLDecodeError, KeyError) as error:
        raise CourseError(f"{path} is not a sample student: {error}.") from None


def submission(sample: Sample, entry: Lesson) -> NotebookNode:
    """The notebook that the sample student hands in: the released one, filled."""
    notebook = nb.read(entry.released)
    solved = nb.read(entry.solved) if sample.base == "solved" else None
    answers = (
        {grade_id(cell): without_markers(cell.source) for cell in solved.cells} if solved else {}
    )
    cells: list[NotebookNode] = []
    for cell in notebook.cells:
        own = [each["source"] for each in sample.cells if each["grade_id"] == grade_id(cell)]
        if kind(cell) in (Kind.ANSWER, Kind.PREDICT, Kind.WRITTEN):
            cell.source = own[0] if own else answers.get(grade_id(cell), cell.source)
        cells += [cell, *(_copy(cell, source) for source in own[1:])]
    notebook.cells = cells
    return notebook


def _copy(cell: NotebookNode, source: str) -> NotebookNode:
    """A copied cell as JupyterLab makes it: all metadata the same, the cell id new."""
    return nb.node(**{**deepcopy(cell), "source": source, "id": f"{cell.id}-copy"})


def write_class(entry: Lesson, folder: Path) -> list[str]:
    """Write STUDENT/LESSON/LESSON.ipynb below `folder` for every sample student."""
    for sample in samples(entry):
        path = folder / sample.student / entry.name / f"{entry.name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(nb.text_of(submission(sample, entry)), "utf-8")
    return [sample.student for sample in samples(entry)]
