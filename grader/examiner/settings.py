"""What an instructor can set: the jail, and how long, how much and how often.

Plain data; nbgrader_config.py (c.Examine) and the command line fill it."""

from dataclasses import dataclass, field
from typing import Any

from grader.errors import CourseError
from grader.examiner.jail import Level, Limits, Report

NONE_THE_LESS = {
    Level.PARTIAL: "To run none the less: --jail partial.",
    Level.NONE: "To run none the less: --unsandboxed.",
}
ORDER = (Level.NONE, Level.PARTIAL, Level.FULL)


@dataclass(frozen=True)
class Settings:
    """Limits of one notebook. Every one that is hit is told to the student in plain words.

    call_seconds      one call that a check makes of the student's function
    cell_seconds      one cell of the student's, run at top level
    notebook_seconds  the whole notebook, restarts included
    restarts          how often a student's process that died is started again
    limits            processor time, memory, files (grader.examiner.jail.Limits)
    """

    call_seconds: float = 10.0
    cell_seconds: float = 20.0
    notebook_seconds: float = 120.0
    restarts: int = 10
    limits: Limits = field(default_factory=Limits)

    def times(self) -> dict[str, Any]:
        """What the examiner process has to know."""
        return {
            "call_seconds": self.call_seconds,
            "cell_seconds": self.cell_seconds,
            "notebook_seconds": self.notebook_seconds,
            "restarts": self.restarts,
        }


def admit(report: Report, least: Level) -> Report:
    """The report itself, if the jail works at least at this level; else a CourseError."""
    if ORDER.index(report.level) < ORDER.index(least):
        raise CourseError(f"{report.sentence} {NONE_THE_LESS[report.level]}")
    return report
