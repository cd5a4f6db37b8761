"""Grades in one ordinary kernel, where there is no fork (Windows): student code and checks share
it, so it is for one's own notebook only. Everywhere else the engine grades."""

from copy import deepcopy
from dataclasses import replace
from typing import Any

import nbclient
from nbformat import NotebookNode

from grader import course
from grader import notebook as nb
from grader.examiner.executed import result_of
from grader.examiner.rebuild import rebuild
from grader.lesson import Kind, grade_id, kind
from grader.result import Result

ANSWERS = (Kind.ANSWER, Kind.PREDICT, Kind.WRITTEN)
NOT_RUN = (Kind.DEMO, Kind.PREDICT)
CELL_SECONDS = 30


class KernelLesson:
    """A lesson ready to grade, with the face of engine.Lesson."""

    def __init__(self, entry: course.Lesson) -> None:
        self.entry = entry
        self.released = nb.read(entry.released)

    def __enter__(self) -> "KernelLesson":
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def grade(self, answers: dict[str, str]) -> Result:
        """Lay `answers` (grade_id → source) into the released lesson and grade that."""
        notebook = deepcopy(self.released)
        for cell in notebook.cells:
            if kind(cell) in ANSWERS:
                cell.source = answers.get(grade_id(cell) or "", cell.source)
        return self.examine(notebook)

    def examine_submission(self, submitted: NotebookNode) -> Result:
        """Rebuild what was handed in and grade that, with the notes on it."""
        rebuilt = rebuild(submitted, self.released)
        return replace(self.examine(rebuilt.notebook), notes=rebuilt.notes)

    def examine(self, notebook: NotebookNode) -> Result:
        """Run a rebuilt notebook in a fresh kernel and read the result off it."""
        notebook = deepcopy(notebook)
        notebook.cells = [cell for cell in notebook.cells if kind(cell) not in NOT_RUN]
        client = nbclient.NotebookClient(
            notebook, timeout=CELL_SECONDS, allow_errors=True, record_timing=False,
            interrupt_on_timeout=True, kernel_name="python3",
            error_on_timeout={"ename": "CellTimeoutError", "evalue": "", "traceback": []},
        )  # fmt: skip
        client.execute()
        return result_of(notebook, self.released, self.entry.name)
