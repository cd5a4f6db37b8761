"""What grading one notebook gives: points, status and message of each cell, and their sums.

Plain data that every caller shares; nothing is graded and nothing is printed here."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from itertools import groupby
from typing import Any


class Status(StrEnum):
    """How a cell, or a lesson, came out."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_WRITTEN = "not_written"
    ERROR = "error"
    TIMEOUT = "timeout"
    BY_HAND = "by_hand"
    NOT_GRADED = "not_graded"


@dataclass(frozen=True)
class CellResult:
    """One graded cell or written answer. `points` is None where nobody has graded it yet."""

    exercise: str
    grade_id: str
    points: float | None
    max_points: float
    status: Status
    message: str = ""
    misconception: str | None = None

    @property
    def few_words(self) -> str:
        """The name of the mistake, else the title of the message: `first axis`, `returns NaN`."""
        if self.misconception:
            return self.misconception
        if self.status is Status.NOT_WRITTEN:
            return "not written yet"
        first = self.message.partition("\n")[0].removeprefix("✗ ")
        return (
            first.removeprefix(f"{self.exercise}: ").removeprefix(f"{self.exercise} ").rstrip(".")
        )


@dataclass(frozen=True)
class Result:
    """One notebook graded. Written answers count in neither sum."""

    lesson: str
    cells: tuple[CellResult, ...]
    jail: str = "none"
    reason: str = ""  # why it was not graded, when it was not
    notes: tuple[str, ...] = ()  # what was not as it had been handed out
    outputs: dict[str, list[Any]] = field(default_factory=dict)  # of each cell, for the feedback
    provenance: dict[str, str] = field(default_factory=dict)

    @property
    def graded(self) -> list[CellResult]:
        """The cells that the grader itself gives points for."""
        return [cell for cell in self.cells if cell.status is not Status.BY_HAND]

    @property
    def points(self) -> float:
        """Points of the graded cells."""
        return sum(cell.points or 0.0 for cell in self.graded)

    @property
    def max_points(self) -> float:
        """Points that the graded cells are worth."""
        return sum(cell.max_points for cell in self.graded)

    @property
    def status(self) -> Status:
        """passed, failed or not_graded."""
        if self.reason:
            return Status.NOT_GRADED
        done = all(cell.status is Status.PASSED for cell in self.graded)
        return Status.PASSED if done else Status.FAILED

    def by_exercise(self) -> Iterator[tuple[str, list[CellResult]]]:
        """Each exercise with its cells, in the order of the lesson."""
        for exercise, cells in groupby(self.cells, key=lambda cell: cell.exercise):
            yield exercise, list(cells)

    def as_json(self) -> dict[str, Any]:
        """The form that `--json` prints (README, section on commands)."""
        told = {"lesson": self.lesson, "points": self.points, "max_points": self.max_points}
        told |= {"status": self.status, "jail": self.jail}
        if self.reason:
            told["reason"] = self.reason
        told |= {"notes": list(self.notes), "provenance": self.provenance}
        told["cells"] = [asdict(cell) for cell in self.cells]
        return told

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> "Result":
        """The result that `as_json` told, without its outputs."""
        cells = tuple(
            CellResult(**{**cell, "status": Status(cell["status"])}) for cell in told["cells"]
        )
        notes, reason = tuple(told["notes"]), told.get("reason", "")
        return cls(told["lesson"], cells, told["jail"], reason, notes, {}, told["provenance"])
