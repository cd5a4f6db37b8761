"""Thin adapters that nbgrader_config.py names. Only what nbgrader itself has to call."""

import csv
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbgrader import preprocessors
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.plugins import CsvExportPlugin

from grader import lesson

COLUMNS = (
    "assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email",
    "raw_score", "late_submission_penalty", "score", "max_score",
)  # fmt: skip


class ClearSolutions(preprocessors.ClearSolutions):
    """nbgrader's own, except that a guess is taken out without a NotImplementedError in its place.

    A predict cell is an answer nobody has to give: left empty, it must stop nothing.
    """

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict[str, Any], cell_index: int
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Clear one cell; nbgrader calls this."""
        if lesson.kind(cell) is not lesson.Kind.PREDICT:
            return super().preprocess_cell(cell, resources, cell_index)
        cell.source = without_solution(cell.source)
        return cell, resources


class DropMarkers(preprocessors.NbGraderPreprocessor):
    """Takes the BEGIN SOLUTION and END SOLUTION lines out of a solved notebook."""

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict[str, Any], cell_index: int
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Clean one cell; nbgrader calls this."""
        cell.source = without_markers(cell.source)
        return cell, resources


def without_solution(source: str) -> str:
    """`source` without its solution regions."""
    kept, inside = [], False
    for line in source.split("\n"):
        if "BEGIN SOLUTION" in line:
            inside = True
        if not inside:
            kept.append(line)
        if "END SOLUTION" in line:
            inside = False
    return "\n".join(kept)


def without_markers(source: str) -> str:
    """`source` without the lines that mark its solution regions."""
    markers = ("BEGIN SOLUTION", "END SOLUTION")
    return "\n".join(
        line for line in source.split("\n") if not any(marker in line for marker in markers)
    )


class CsvExport(CsvExportPlugin):
    """nbgrader's columns, but blank for who was not graded, and no cell that runs as a formula."""

    def export(self, gradebook: Gradebook) -> None:
        """Write every assignment of every student to `to`; nbgrader calls this."""
        wanted = [
            a for a in gradebook.assignments if not self.assignment or a.name in self.assignment
        ]
        students = [s for s in gradebook.students if not self.student or s.id in self.student]
        rows = [self._row(gradebook, a, s) for a in wanted for s in students]
        target = Path(self.to or "grades.csv")
        beside = target.with_name(f".{target.name}.new")
        with beside.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows({name: harmless(value) for name, value in row.items()} for row in rows)
        beside.replace(target)

    def _row(self, gradebook: Gradebook, assignment: Any, student: Any) -> dict[str, Any]:
        row = dict.fromkeys(COLUMNS) | {
            "assignment": assignment.name,
            "duedate": assignment.duedate,
            "student_id": student.id,
            "last_name": student.last_name,
            "first_name": student.first_name,
            "email": student.email,
            "max_score": assignment.max_score,
        }
        try:
            submission = gradebook.find_submission(assignment.name, student.id)
        except MissingEntry:
            return row
        row["timestamp"] = submission.timestamp
        if not any(
            grade.auto_score is not None for n in submission.notebooks for grade in n.grades
        ):
            return row
        penalty = submission.late_submission_penalty or 0.0
        return row | {
            "raw_score": submission.score,
            "late_submission_penalty": penalty,
            "score": max(0.0, submission.score - penalty),
        }


def harmless(value: Any) -> str:
    """A CSV field as text; one that a spreadsheet would run as a formula gets an apostrophe."""
    text = "" if value is None else str(value)
    return f"'{text}" if text[:1] in tuple("=+-@\t\r") and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
