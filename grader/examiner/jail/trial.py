"""Goes into the jail part by part and tries its door; a process of its own, run by probe().

Each part is reported as soon as it is known, since a next one may end the process."""

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

from grader.examiner.jail import landlock, seccomp
from grader.examiner.jail.limits import Limits
from grader.examiner.jail.paths import listable_paths, readable_paths


def run(scratch: str) -> None:
    """Print, a line each, every part with what kept it from working, "" if nothing did."""
    for part in (limits, landlocked, filtered):
        why = _failure(part, Path(scratch))
        print(json.dumps((PARTS[part], why)), flush=True)


def _failure(part: Callable[[Path], None], scratch: Path) -> str:
    try:
        part(scratch)
    except (OSError, ValueError) as error:
        return str(error)
    return ""


def limits(scratch: Path) -> None:
    """Set the limits."""
    Limits().apply()


def landlocked(scratch: Path) -> None:
    """Restrict files; then scratch must be writable and the course unreadable."""
    if landlock.abi() == 0:
        raise OSError("this kernel is older than 5.13 or has it switched off")
    landlock.restrict(readable_paths(), (scratch, Path(os.devnull)), listable_paths())
    (scratch / "written").write_text("here")
    _must_be_refused(lambda: Path(__file__).read_text())


def filtered(scratch: Path) -> None:
    """Load the filter; then there must be no socket."""
    seccomp.restrict()
    _must_be_refused(socket.socket)


def _must_be_refused(attempt: Callable[[], object]) -> None:
    try:
        attempt()
    except PermissionError:
        return
    raise OSError("it loaded, and forbids nothing")


PARTS = {limits: "limits", landlocked: "landlock", filtered: "seccomp"}
