"""The engine: a lesson that can grade answers, for whoever calls it.

For now in one kernel, like nbgrader itself; student code and checks share it."""

from copy import deepcopy
from typing import Any

import nbclient
from nbformat import NotebookNode

from grader import course
from grader import notebook as nb
from grader.examiner.executed import result_of
from grader.lesson import Kind, grade_id, kind
from grader.result import Result

ANSWERS = (Kind.ANSWER, Kind.PREDICT, Kind.WRITTEN)
NOT_RUN = (Kind.DEMO, Kind.PREDICT)
CELL_SECONDS = 30


class Lesson:
    """A lesson ready to grade; use it as `with Lesson(entry) as lesson: lesson.grade(answers)`."""

    def __init__(self, entry: course.Lesson) -> None:
        self.entry = entry
        self.released = nb.read(entry.released)

    def __enter__(self) -> "Lesson":
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def grade(self, answers: dict[str, str]) -> Result:
        """Lay `answers` (grade_id → source) into the released lesson, run it, read the result."""
        notebook = deepcopy(self.released)
        for cell in notebook.cells:
            if kind(cell) in ANSWERS:
                cell.source = answers.get(grade_id(cell) or "", cell.source)
        notebook.cells = [cell for cell in notebook.cells if kind(cell) not in NOT_RUN]
        client = nbclient.NotebookClient(
            notebook, timeout=CELL_SECONDS, allow_errors=True, record_timing=False,
            interrupt_on_timeout=True, kernel_name="python3",
            error_on_timeout={"ename": "CellTimeoutError", "evalue": "", "traceback": []},
        )  # fmt: skip
        client.execute()
        return result_of(notebook, self.released, self.entry.name)


def answers_of(notebook: NotebookNode) -> dict[str, str]:
    """What stands in the cells of a submission, by grade_id."""
    return {name: cell.source for cell in notebook.cells if (name := grade_id(cell))}
