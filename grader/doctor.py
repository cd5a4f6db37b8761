"""`grader doctor`: what of the grader works on this machine, and what to do about the rest.

Tries things out and says so; changes nothing."""

import importlib.util
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grader import course
from grader.examiner import jail


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: whether it works, what was seen, what to do if it does not."""

    what: str
    works: bool
    seen: str
    remedy: str = ""


def examine() -> list[Finding]:
    """Everything that grading needs, tried out here."""
    report = jail.probe()
    return [
        _versions(),
        Finding("fork", hasattr(os, "fork"), platform.system(), NO_FORK),
        Finding("Landlock", report.landlock > 0, f"ABI {report.landlock}", JAIL),
        Finding("call filter", report.seccomp, platform.machine(), JAIL),
        Finding("limits", report.limits, "processor time, memory, files", JAIL),
        *_course_files(),
        _alembic(),
    ]


NO_FORK = "notebooks are graded in an ordinary kernel: only your own. Use Linux, WSL2 or macOS."
JAIL = "`Jail:` below says what follows from it and the way out."


def _versions() -> Finding:
    seen = f"{sys.version.split()[0]}, NumPy {np.__version__}"
    fine = (3, 11) <= sys.version_info[:2] <= (3, 13)
    return Finding("Python", fine, seen, "use Python 3.11, 3.12 or 3.13, then run: make setup")


def _course_files() -> Iterator[Finding]:
    for name, remedy in (("released", "python -m grader build"), ("solved", "make setup")):
        missing = [e.name for e in course.lessons() if not getattr(e, name).exists()]
        seen = f"missing for {', '.join(missing)}" if missing else "all there"
        yield Finding(f"{name} notebooks", not missing, seen, f"run: {remedy}")


def _alembic() -> Finding:
    """nbgrader starts it by its bare name; `grader grade` finds it in its own environment."""
    own = Path(sys.executable).parent / "alembic"
    there = own.exists() or shutil.which("alembic") is not None
    installed = importlib.util.find_spec("nbgrader") is not None
    return Finding("nbgrader", there and installed, str(own), "run: make setup")


def as_json(findings: list[Finding], report: jail.Report) -> dict[str, Any]:
    """The form that `--json` prints."""
    return {
        "jail": str(report.level),
        "sentence": report.sentence,
        "findings": [
            {
                "what": f.what,
                "works": f.works,
                "seen": f.seen,
                "remedy": "" if f.works else f.remedy,
            }
            for f in findings
        ],
    }
