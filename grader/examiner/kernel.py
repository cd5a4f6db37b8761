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
from grader.lesson import Kind, kind, with_answers
from grader.result import Result

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
        return self.examine(with_answers(self.released, answers))

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
