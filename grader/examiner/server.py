"""A warm server: a fresh interpreter that has run a lesson's set-up and forks on an order.

Started as `python -I -c … ROLE ROOT DESCRIPTOR`; what its children do is the role's business."""

import contextlib
import ctypes
import gc
import os
import signal
import sys
import time
from typing import Any, Protocol

from grader.examiner.control import Control, ControlClosed, close_all_but

PR_SET_PDEATHSIG = 1
BROKEN, OUT_OF_MEMORY = 70, 71  # exit status of a child that could not go on


class Role(Protocol):
    """What the children of a server are for."""

    def set_up(self, order: dict[str, Any]) -> None:
        """Import and run what every child will need; raises when the lesson itself is broken."""

    @property
    def kept(self) -> tuple[int, ...]:
        """Descriptors that a child needs beside its own one."""

    def work_ahead(self) -> bool:
        """Do a little of what the children would all have to do; whether there was any left."""

    def child(self, order: dict[str, Any], descriptor: int) -> None:
        """Do the child's work; the process ends when this returns."""


def serve(role: Role, control: Control) -> None:
    """Answer orders until the other side is gone, then end every child."""
    children: set[int] = set()
    with contextlib.suppress(ControlClosed):
        while True:
            while not control.waits(0) and role.work_ahead():
                pass
            order, descriptors = control.receive()
            control.send(_obey(role, order, descriptors, children))
            for descriptor in descriptors:
                os.close(descriptor)
    _end_all(children)


def _obey(
    role: Role, order: dict[str, Any], descriptors: list[int], children: set[int]
) -> dict[str, Any]:
    match order["do"]:
        case "set up":
            try:
                role.set_up(order)
            except Exception as error:
                return {"error": f"{type(error).__name__}: {error}"}
            gc.collect()
            gc.freeze()  # a child's collector would touch, and so copy, every page of it
            return {}
        case "fork":
            pid = os.fork()
            if pid == 0:
                _run_child(role, order, descriptors[0])
            children.add(pid)
            return {"pid": pid}
        case "end":
            children.discard(order["pid"])
            return {"status": _end(order["pid"], order["patience"])}
        case "end all":
            _end_all(children)
            return {}
    return {"error": f"{order['do']!r} is no order"}


def _run_child(role: Role, order: dict[str, Any], descriptor: int) -> None:
    """The child's whole life; it never returns into the server's loop."""
    try:
        if sys.platform == "linux":  # or an endless loop would outlive a server that was killed
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        close_all_but(descriptor, *role.kept)
        role.child(order, descriptor)
    except BaseException as error:
        starved = isinstance(error, MemoryError) or isinstance(error.__cause__, MemoryError)
        os._exit(OUT_OF_MEMORY if starved else BROKEN)
    os._exit(0)


def _end_all(children: set[int]) -> None:
    while children:
        _end(children.pop(), 0.0)


def _end(pid: int, patience: float) -> int:
    """Give a child that is dying by itself so many seconds, else kill it; its wait status."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]


def main() -> None:
    """Start the role that the command line names."""
    role_name, descriptor = sys.argv[1], int(sys.argv[3])
    role: Role
    if role_name == "student":
        from grader.examiner.student import StudentRole

        role = StudentRole()
    else:
        from grader.examiner.session import ExaminerRole

        role = ExaminerRole()
    import socket

    serve(role, Control(socket.socket(fileno=descriptor)))
