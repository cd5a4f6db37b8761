"""Confines the process that runs a student's code, for good, without privilege or namespace.

Knows files, calls and limits; nothing of lessons, grading or who runs what."""

import contextlib
import functools
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from grader.examiner.jail import landlock, seccomp
from grader.examiner.jail.kernel import JailError
from grader.examiner.jail.limits import Limits
from grader.examiner.jail.paths import listable_paths, readable_paths

__all__ = [
    "Jail",
    "JailError",
    "Level",
    "Limits",
    "Report",
    "listable_paths",
    "prepare",
    "probe",
    "readable_paths",
]

ENOUGH_LANDLOCK = 3  # before it, files that may be read could be emptied
TRIAL_SECONDS = 30


class Level(StrEnum):
    """How much of the jail works on this machine."""

    FULL = "full"
    PARTIAL = "partial"
    NONE = "none"


@dataclass(frozen=True)
class Report:
    """What of the jail works here; `missing` says of each other part why, and what follows."""

    landlock: int
    seccomp: bool
    limits: bool
    missing: tuple[str, ...] = ()

    @property
    def level(self) -> Level:
        """Full, or limits and one of the two, or none."""
        if self.limits and self.seccomp and self.landlock >= ENOUGH_LANDLOCK:
            return Level.FULL
        partial = self.limits and (self.seccomp or self.landlock > 0)
        return Level.PARTIAL if partial else Level.NONE

    @property
    def sentence(self) -> str:
        """What a person is told: `Jail: full (Landlock ABI 7, seccomp, limits).`"""
        parts = {
            f"Landlock ABI {self.landlock}": self.landlock > 0,
            "seccomp": self.seccomp,
            "limits": self.limits,
        }
        works = ", ".join(name for name, there in parts.items() if there)
        first = f"Jail: {self.level} ({works})." if works else f"Jail: {self.level}."
        return " ".join((first, *self.missing))


# --- what works here --------------------------------------------------------------------------

WAY_OUT = (
    "Way out: Linux 6.2 or newer on x86_64 or aarch64, WSL2, or a container whose own filter "
    "lets landlock_* and seccomp through."
)
WITHOUT_LANDLOCK = (
    "Student code could read every file that you can read (solutions, gradebook, other "
    "submissions) and change or delete every file that you can change."
)
WITHOUT_TRUNCATE = "Student code could empty files of the Python installation."
WITHOUT_SECCOMP = (
    "Student code could use the network, start processes that outlive the run, and change modes "
    "and times of your files."
)
WITHOUT_LIMITS = "Student code could use up memory, processor time and disk."
ELSEWHERE = (
    "The jail needs Linux on x86_64 or aarch64; this is {here}. Student code would run with all "
    "your rights: files, network, programs. Way out: Linux, WSL2 or a container."
)


@functools.cache
def probe() -> Report:
    """What works on this machine, tried out in a process of its own. Never raises."""
    if platform.system() != "Linux" or seccomp.machine() is None:
        here = f"{platform.system()} on {platform.machine()}"
        return Report(0, False, False, (ELSEWHERE.format(here=here),))
    return _judge(_try_out())


def _try_out() -> dict[str, str]:
    """Each part with what kept it from working, "" if nothing did; a part not reached is absent."""
    root = Path(__file__).resolve().parents[3]
    code = (
        f"import sys; sys.path.insert(0, {str(root)!r})\n"
        "from grader.examiner.jail.trial import run; run(sys.argv[1])"
    )
    try:
        with tempfile.TemporaryDirectory() as scratch:
            done = subprocess.run(
                [sys.executable or "python3", "-I", "-S", "-c", code, scratch],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=TRIAL_SECONDS,
            )
        return dict(json.loads(line) for line in done.stdout.splitlines())
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return dict.fromkeys(("limits", "landlock", "seccomp"), f"the trial failed: {error}")


def _judge(tried: dict[str, str]) -> Report:
    why = {
        part: tried.get(part, "the process was ended when it tried")
        for part in ("limits", "landlock", "seccomp")
    }
    abi = 0 if why["landlock"] else landlock.abi()
    missing = []
    if why["landlock"]:
        missing.append(f"Landlock does not work: {why['landlock']}. {WITHOUT_LANDLOCK}")
    elif abi < ENOUGH_LANDLOCK:
        missing.append(f"Landlock is older than ABI {ENOUGH_LANDLOCK}. {WITHOUT_TRUNCATE}")
    if why["seccomp"]:
        missing.append(f"The call filter does not work: {why['seccomp']}. {WITHOUT_SECCOMP}")
    if why["limits"]:
        missing.append(f"Limits cannot be set: {why['limits']}. {WITHOUT_LIMITS}")
    if missing:
        missing.append(WAY_OUT)
    return Report(abi, not why["seccomp"], not why["limits"], tuple(missing))


# --- going in ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Jail:
    """A jail that is ready: this process or, cheaply, each of its forks may go in, for good.

    `kept` are the descriptors that a fork must still hold when it goes in; going in closes them.
    """

    scratch: Path
    limits: Limits
    report: Report
    kept: tuple[int, ...]

    def enter(self) -> None:
        """Confine the calling process, for good, by every part that works here.

        From then on it reads what readable_paths() names, writes only in `scratch` (its working
        folder from now on; keep it closed to other users), reaches no network and no other
        process, and stays within `limits`. What it still can: ask whether a path that it guesses
        exists. Other descriptors that are open stay open, so close those that must not be had.
        Raises JailError, after which the process must not go on, if it has several threads (only
        the calling one would be confined) or a part that worked in the trial fails.
        """
        with _promised(self.report):
            self._enter()

    def _enter(self) -> None:
        """Limits first, since they read /proc; the filter last, since it ends all further steps."""
        confining = self.report.landlock or self.report.seccomp
        if confining and len(list(Path("/proc/self/task").iterdir())) > 1:
            raise JailError("A process with several threads cannot be jailed: only one would be.")
        os.chdir(self.scratch)
        os.environ["TMPDIR"] = tempfile.tempdir = str(self.scratch)
        if self.report.limits:
            self.limits.apply()
        for ruleset in self.kept:
            landlock.confine(ruleset)
        if self.report.seccomp:
            seccomp.restrict()


def prepare(scratch: Path, limits: Limits, report: Report | None = None) -> Jail:
    """Make ready, once for all forks of this process, what going in needs: the rules about files
    (hundreds, which take as long as the rest) and the filter of calls. Raises JailError.

    Whether what the report says is enough is for the caller to decide, before.
    """
    report = probe() if report is None else report
    with _promised(report):
        scratch = scratch.resolve(strict=True)
        rulesets = []
        if report.landlock:
            writable = (scratch, Path(os.devnull))
            rulesets.append(landlock.ruleset_of(readable_paths(), writable, listable_paths()))
        if architecture := seccomp.machine():
            seccomp.program(architecture)
    return Jail(scratch, limits, report, tuple(rulesets))


@contextlib.contextmanager
def _promised(report: Report) -> Iterator[None]:
    """Say that the jail fails, if anything in the block does."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise JailError(
            f"The jail that was promised ({report.sentence}) failed: {error}"
        ) from error
