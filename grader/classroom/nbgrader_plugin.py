"""Thin adapters that nbgrader_config.py names. Only what nbgrader itself has to call."""

import atexit
import csv
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from nbformat import NotebookNode
from nbgrader import preprocessors
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.plugins import CsvExportPlugin
from traitlets import Enum, Float, Integer, Unicode

from grader import course, lesson
from grader import notebook as nb
from grader.classroom.secret import course_secret
from grader.errors import CourseError
from grader.examiner import jail
from grader.examiner.engine import Lesson
from grader.examiner.rebuild import rebuild
from grader.examiner.settings import Settings, admit
from grader.result import Result

MIB = 2**20
STAMP = "attention_from_scratch"
COLUMNS = (
    "assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email",
    "raw_score", "late_submission_penalty", "score", "max_score",
)  # fmt: skip


# --- generate_assignment and generate_solution ------------------------------------------------


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


# --- autograde --------------------------------------------------------------------------------


class Rebuild(preprocessors.NbGraderPreprocessor):
    """Lays a submission's answers and own cells into the released notebook (rebuild.py)."""

    def preprocess(
        self, notebook: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Rebuild one submission; nbgrader calls this instead of its own repairs."""
        entry = course.lesson(resources["nbgrader"]["assignment"])
        rebuilt = rebuild(notebook, nb.read(entry.released))
        rebuilt.notebook.metadata[STAMP] = nb.node(notes=list(rebuilt.notes))
        return rebuilt.notebook, resources


class Examine(preprocessors.NbGraderPreprocessor):
    """Grades a rebuilt notebook with the examiner and writes what came of it into its cells."""

    jail = Enum(
        [str(level) for level in jail.Level],
        default_value="full",
        help="The least of the jail that must work before student code is run.",
    ).tag(config=True)
    secret_file = Unicode("class/secret", help="Where the course's secret is kept.").tag(
        config=True
    )
    call_seconds = Float(10.0, help="Time limit of one call of the student's code.").tag(
        config=True
    )
    cell_seconds = Float(20.0, help="Time limit of one of the student's cells.").tag(config=True)
    notebook_seconds = Float(120.0, help="Time limit of the whole notebook.").tag(config=True)
    cpu_seconds = Integer(60, help="Processor time of the student's process.").tag(config=True)
    memory_mib = Integer(2048, help="Memory of the student's process, in MiB.").tag(config=True)
    scratch_mib = Integer(64, help="Size of its scratch folder, in MiB.").tag(config=True)
    file_mib = Integer(16, help="Size of one file that it writes, in MiB.").tag(config=True)
    open_files = Integer(64, help="Files that it may have open at once.").tag(config=True)

    # Warm lessons, shared by every notebook that this process grades.
    _ready: ClassVar[dict[tuple[Any, ...], Lesson]] = {}

    def preprocess(
        self, notebook: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Grade one notebook; nbgrader calls this instead of executing it."""
        notes = tuple(notebook.metadata.get(STAMP, {}).get("notes", ()))
        ready = self._lesson(resources["nbgrader"]["assignment"])
        result = replace(ready.examine(notebook), notes=notes)
        if result.reason:
            raise CourseError(result.reason)
        write_into(notebook, result)
        return notebook, resources

    def settings(self) -> Settings:
        """The configured limits."""
        limits = jail.Limits(
            cpu_seconds=self.cpu_seconds,
            memory_bytes=self.memory_mib * MIB,
            file_bytes=self.file_mib * MIB,
            scratch_bytes=self.scratch_mib * MIB,
            open_files=self.open_files,
        )
        return Settings(self.call_seconds, self.cell_seconds, self.notebook_seconds, limits=limits)

    def _lesson(self, name: str) -> Lesson:
        entry, settings = course.lesson(name), self.settings()
        secret = course_secret(entry.root / self.secret_file)
        report = admit(jail.probe(), jail.Level(self.jail))
        version = entry.released.stat().st_mtime_ns
        key = (name, version, settings, secret)
        if key not in self._ready:
            ready = Lesson(entry, settings, report, secret, ahead=True)
            ready.__enter__()
            atexit.register(ready.__exit__)
            self._ready[key] = ready
        return self._ready[key]


def write_into(notebook: NotebookNode, result: Result) -> None:
    """Give each cell what grading it gave, and the notebook the notes and the result."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = result.outputs.get(lesson.grade_id(cell) or cell.id, [])
    if result.notes:
        text = "**About what you handed in**\n\n" + "\n".join(f"- {note}" for note in result.notes)
        cell = nb.node(cell_type="markdown", id="notes", metadata={}, source=text)
        notebook.cells.insert(0, cell)
    notebook.metadata[STAMP] = nb.node(result=result.as_json())


# --- export -----------------------------------------------------------------------------------


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
        grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
        if not any(grade.auto_score is not None for grade in grades):
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
