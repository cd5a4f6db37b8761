"""The engine: a lesson that is ready to grade, for whoever calls it.

Starts the warm servers, forks two processes a notebook, watches the student's, sums up. Reads no
verdict from the student's side."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from nbformat import NotebookNode

from grader import __version__, course
from grader import notebook as nb
from grader.errors import CourseError
from grader.examiner import jail, scratch
from grader.examiner.control import Control, ControlClosed, seconds_left
from grader.examiner.kernel import KernelLesson
from grader.examiner.rebuild import rebuild
from grader.examiner.server import OUT_OF_MEMORY
from grader.examiner.settings import Settings
from grader.lesson import Kind, exercises, grade_id, kind, points, with_answers
from grader.names import names_bound, names_read
from grader.result import CellResult, Result, Status

BOOTSTRAP = (
    "import sys; sys.path.insert(0, sys.argv[2]); from grader.examiner.server import main; main()"
)
NOT_REACHED = "the examiner's own process ended before the last graded cell; grade it once more"
PUBLIC_SECRET = b"check"
TICK = 0.05  # seconds between two looks at the student's process
DYING = 0.5  # seconds that a process which closed its channel may take to die of what it died of
GRACE = 10.0  # seconds beyond the notebook's own budget before its examiner is given up


class Lesson:
    """A lesson ready to grade; use it as `with Lesson(entry) as lesson: lesson.grade(answers)`.

    `report` says how much of the jail works (jail.probe()); None runs student code without one.
    `secret` changes the random inputs of every check. `ahead` has an idle server compute
    what many notebooks will want. Raises CourseError when the lesson's own
    set-up fails.
    """

    def __init__(
        self,
        entry: course.Lesson,
        settings: Settings | None = None,
        report: jail.Report | None = None,
        secret: bytes = PUBLIC_SECRET,
        ahead: bool = False,
    ) -> None:
        self.entry = entry
        self.ahead = ahead
        self.settings = settings or Settings()
        self.report = report
        self.secret = secret
        self.released = nb.read(entry.released)
        self._answers = answer_names(nb.read(entry.solution))
        self._servers: dict[str, Server] = {}

    def __enter__(self) -> "Lesson":
        self._start_servers()
        return self

    def __exit__(self, *_: Any) -> None:
        for server in self._servers.values():
            server.stop()
        if self._servers:
            scratch.remove(self.scratch)
        self._servers = {}

    def _start_servers(self) -> None:
        sources = [c.source for c in self.released.cells if kind(c) is Kind.SETUP]
        self.scratch = Path(tempfile.mkdtemp(prefix="scratch-"))
        order = {
            "do": "set up",
            "sources": sources,
            "root": str(self.entry.root),
            "scratch": str(self.scratch),
            "limits": asdict(self.settings.limits),
            "report": asdict(self.report) if self.report else None,
        }
        self._servers = {role: Server(role, self.entry.root) for role in ("student", "examiner")}
        try:
            self._servers["student"].begin(order)
            ahead = ["", self.secret.hex()] if self.ahead else []
            self._servers["examiner"].begin(order | {"ahead": ahead})
            for server in self._servers.values():
                server.ready(self.entry.name)
        except BaseException:
            self.__exit__()
            raise

    def _restart(self) -> None:
        self.__exit__()
        self._start_servers()

    def grade(self, answers: dict[str, str]) -> Result:
        """Lay `answers` (grade_id → source) into the released lesson and grade that."""
        return self.examine(with_answers(self.released, answers))

    def examine(self, notebook: NotebookNode) -> Result:
        """Grade a rebuilt notebook: a released one with a student's answers and own cells in it."""
        with Run(self) as run:
            return self._graded(run, notebook)

    def examine_submission(self, submitted: NotebookNode) -> Result:
        """Rebuild what was handed in (see rebuild.py) and grade that, with the notes on it."""
        with Run(self) as run:  # its processes start meanwhile
            rebuilt = rebuild(submitted, self.released)
            return replace(self._graded(run, rebuilt.notebook), notes=rebuilt.notes)

    def settle(self) -> bool:
        """Wait until nothing of the last notebook is left; whether its folder could be emptied."""
        for server in self._servers.values():
            server.settle()
        with contextlib.suppress(OSError):
            scratch.empty(self.scratch)
        return not any(self.scratch.iterdir())

    def _graded(self, run: "Run", notebook: NotebookNode) -> Result:
        try:
            outcomes = self._outcomes(run, list(self._steps(notebook)))
        except ControlClosed:  # a process of the grader's own died: the next notebook gets new ones
            self._restart()
            outcomes = {}
        return self._result(notebook, outcomes)

    def _outcomes(self, run: "Run", steps: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        try:
            return run.outcomes(steps)
        except Littered:  # what could not be deleted is for no other student
            self._restart()
            with Run(self) as another:
                return another.outcomes(steps)

    # --- what is run --------------------------------------------------------------------------

    def _steps(self, notebook: NotebookNode) -> Iterator[dict[str, Any]]:
        """The student's cells and the graded ones, in the order of the notebook."""
        remote = set().union(*self._answers.values())
        exercise_of = {
            grade_id(cell): exercise
            for exercise, cells in exercises(self.released).items()
            for cell in cells
        }
        for cell in notebook.cells:
            name = grade_id(cell) or cell.id
            if kind(cell) is Kind.GRADED:
                reads = sorted(names_read(cell.source) & remote)
                exercise = exercise_of[name]
                yield _step("graded", name, cell.source, reads) | {"exercise": exercise}
            elif kind(cell) is Kind.ANSWER or (cell.cell_type == "code" and kind(cell) is None):
                bound = sorted(self._answers.get(name, ()))
                yield _step("student", name, cell.source, bound)

    # --- what came of it ----------------------------------------------------------------------

    def _result(self, notebook: NotebookNode, outcomes: dict[str, dict[str, Any]]) -> Result:
        cells = tuple(
            _cell_result(exercise, cell, outcomes.get(grade_id(cell) or ""))
            for exercise, graded in exercises(self.released).items()
            for cell in graded
        )
        level = self.report.level if self.report else jail.Level.NONE
        return Result(
            self.entry.name,
            cells,
            jail=str(level),
            reason=NOT_REACHED if any(c.status is Status.NOT_GRADED for c in cells) else "",
            outputs={name: _outputs(told) for name, told in outcomes.items()},
            provenance=self.provenance(),
        )

    def provenance(self) -> dict[str, str]:
        """By what a result was made."""
        return {
            "lesson": _digest(self.entry.released.read_bytes()),
            "grader": __version__,
            "python": sys.version.split()[0],
            "numpy": np.__version__,
            "secret": _digest(self.secret),
        }


AnyLesson = Lesson | KernelLesson


def open_lesson(
    entry: course.Lesson,
    settings: Settings | None = None,
    report: jail.Report | None = None,
    secret: bytes = PUBLIC_SECRET,
) -> AnyLesson:
    """A lesson ready to grade on this machine: the engine where Python can fork, else a kernel."""
    if hasattr(os, "fork"):
        return Lesson(entry, settings, report, secret)
    return KernelLesson(entry)


def _step(what: str, name: str, source: str, names: list[str]) -> dict[str, Any]:
    return {"kind": what, "id": name, "source": source, "names": names}


def answer_names(solution: NotebookNode) -> dict[str, set[str]]:
    """The names that each answer cell binds, read from the solved lesson."""
    return {
        grade_id(cell) or "": names_bound(cell.source)
        for cell in solution.cells
        if kind(cell) is Kind.ANSWER
    }


def _digest(data: bytes) -> str:
    from hashlib import sha256

    return sha256(data).hexdigest()[:12]


def _cell_result(exercise: str, cell: NotebookNode, told: dict[str, Any] | None) -> CellResult:
    name, worth = grade_id(cell) or "", points(cell)
    if kind(cell) is Kind.WRITTEN:
        return CellResult(exercise, name, None, worth, Status.BY_HAND)
    if told is None:
        return CellResult(exercise, name, None, worth, Status.NOT_GRADED)
    status = Status(told["status"])
    got = worth if status is Status.PASSED else 0.0
    message = "" if status is Status.PASSED else told["message"]
    return CellResult(exercise, name, got, worth, status, message, told.get("misconception"))


def _outputs(told: dict[str, Any]) -> list[NotebookNode]:
    """What a cell gave, as notebook outputs: text, pictures, and what stopped it."""
    outputs = []
    text = told.get("printed") or (told.get("message") if told.get("status") == "passed" else "")
    if text:
        outputs.append(nb.node(output_type="stream", name="stdout", text=text))
    for png in told.get("pictures", ()):
        outputs.append(nb.node(output_type="display_data", data={"image/png": png}, metadata={}))
    failed = told.get("error") or (told.get("message") if told.get("status") != "passed" else "")
    if failed:
        name = {"failed": "CheckFailed", "not_written": "NotWritten"}.get(
            told.get("status", ""), "Stopped"
        )
        lines = failed.split("\n")
        outputs.append(nb.node(output_type="error", ename=name, evalue=failed, traceback=lines))
    return outputs


class Server:
    """A warm server as its owner sees it: an interpreter of its own, obeying orders."""

    def __init__(self, role: str, root: Path) -> None:
        self.role = role
        ours, theirs = socket.socketpair()
        descriptor = theirs.fileno()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-X", "utf8", "-c", BOOTSTRAP, role, str(root), str(descriptor)],
            pass_fds=(descriptor,),
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
        )
        theirs.close()
        self._control = Control(ours)
        self._due = 0  # orders whose answers were not taken yet

    def begin(self, order: dict[str, Any]) -> None:
        """Order the set-up, which takes a moment."""
        self._order(order)

    def ready(self, lesson: str) -> None:
        """Wait for the set-up. Raises CourseError with what went wrong in it."""
        try:
            told = self._answer()
        except ControlClosed:
            told = {"error": "the process ended; run `python -m grader doctor`"}
        if "error" in told:
            raise CourseError(f"{lesson} cannot be graded: {told['error']}.")

    def fork(self, end: Control, **order: Any) -> int:
        """A child that serves the other end of `end`; its process id."""
        self.begin_fork(end, **order)
        return self.forked()

    def begin_fork(self, end: Control, **order: Any) -> None:
        """Order a child that serves the other end of `end`; `forked` waits for it."""
        try:
            self._order({"do": "fork", **order}, (end.end.fileno(),))
        finally:
            end.close()

    def forked(self) -> int:
        """The process id of the child that was ordered."""
        return int(self._answer()["pid"])

    def end(self, pid: int, patience: float) -> int:
        """End a child, after so many seconds if it is dying by itself; its wait status."""
        self._order({"do": "end", "pid": pid, "patience": patience})
        return int(self._answer()["status"])

    def dismiss(self) -> None:
        """Order the end of every child, and go on: they are gone before the next answer comes."""
        self._order({"do": "end all"})

    def settle(self) -> None:
        """Wait until all is done that was ordered."""
        self._answer()

    def _order(self, order: dict[str, Any], descriptors: tuple[int, ...] = ()) -> None:
        self._due += 1
        self._control.send(order, descriptors)

    def _answer(self) -> dict[str, Any]:
        """The answer to the last order; what came of those before it nobody wanted to know."""
        told: dict[str, Any] = {}
        while self._due:
            told, _ = self._control.receive()
            self._due -= 1
        return told

    def stop(self) -> None:
        """Let the server end itself and its children."""
        self._control.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@cache
def _environment() -> dict[str, str]:
    """All that a server may know of this environment: where Python finds its libraries, if that
    has to be said, and for which processor OPENBLAS computes."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name.startswith("OPENBLAS_") or name == "LD_LIBRARY_PATH"
    }
    return kept | {"OPENBLAS_NUM_THREADS": "1", "MPLCONFIGDIR": _font_cache()}


def _font_cache() -> str:
    """Matplotlib's own cache of fonts, so that a server need not look for them again."""
    import matplotlib

    return matplotlib.get_cachedir()


class Littered(Exception):
    """A file of the last notebook could not be deleted."""


class Run:
    """One notebook under way: its examiner, its student's process, and the watch over that.

    Both processes start when the block is entered and end after it, while the caller goes on.
    """

    def __init__(self, lesson: Lesson) -> None:
        self.lesson = lesson
        self.settings = lesson.settings
        self.examiners = lesson._servers["examiner"]
        self.students = lesson._servers["student"]
        self.scratch = lesson.scratch
        self.student: int | None = None
        self.why = ""

    def __enter__(self) -> "Run":
        self.examiner, theirs = Control.pair()
        self.channel, its_end = Control.pair()
        with contextlib.suppress(ControlClosed):  # then `outcomes` gets no answer
            self.examiners.begin_fork(theirs)
            self.students.begin_fork(its_end, first=0)
        return self

    def __exit__(self, *_: Any) -> None:
        self.examiner.close()
        self.channel.close()
        for server in (self.examiners, self.students):
            with contextlib.suppress(ControlClosed):
                server.dismiss()

    def outcomes(self, steps: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Run to the end, whatever the student's side does; the outcome of each step.

        Raises ControlClosed when a process of the grader's own ended or does not answer, and
        Littered when the student would find another's files.
        """
        self.examiners.forked()
        self.student = self.students.forked()  # and so the student before is gone for good
        if not self.lesson.settle():
            raise Littered
        plan = {
            "steps": steps,
            "secret": self.lesson.secret.hex(),
            "times": self.settings.times(),
            "pid": self.student,
        }
        self.examiner.send(plan, (self.channel.end.fileno(),))
        self.channel.close()
        return {told["id"]: told for told in self._serve()}

    def _serve(self) -> list[dict[str, Any]]:
        """Give the examiner the processes it asks for, until it hands in the outcomes."""
        deadline = time.monotonic() + self.settings.notebook_seconds + GRACE
        while seconds_left(deadline) > 0:
            if not self.examiner.waits(TICK):
                self._watch()
                continue
            order, _ = self.examiner.receive()
            match order["do"]:
                case "start student":
                    self._start_student(order["first"])
                case "end student":
                    patience = DYING if order["dying"] else 0.0
                    why = self._end_student(patience)
                    self.examiner.send({"why": why, "slow": why == _too_much_time(self.settings)})
                case "finish":
                    return list(order["outcomes"])
        raise ControlClosed("the examiner does not come to an end")

    def _start_student(self, first: int) -> None:
        ours, theirs = Control.pair()
        self.why = ""
        self.student = self.students.fork(theirs, first=first)
        self.examiner.send({"pid": self.student}, (ours.end.fileno(),))
        ours.close()

    def _end_student(self, patience: float) -> str:
        """End the student's process, empty its folder, and say in words what it died of."""
        if self.student is None:
            return ""
        status = self.students.end(self.student, patience)
        self.student = None
        with contextlib.suppress(OSError):
            scratch.empty(self.scratch)
        return self.why or _words(status, self.settings)

    def _watch(self) -> None:
        """Kill a student's process that fills its scratch folder; the kernel limits the rest."""
        if self.student is None or self.why:
            return
        limit = self.settings.limits.scratch_bytes
        if scratch.used_bytes(self.scratch, self.student) > limit:
            self.why = f"it wrote more than {limit / 2**20:g} MiB to its folder"
            os.kill(self.student, signal.SIGKILL)


def _too_much_time(settings: Settings) -> str:
    return f"it used more than {settings.limits.cpu_seconds} s of processor time"


def _words(status: int, settings: Settings) -> str:
    """What a wait status means, for the student."""
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == OUT_OF_MEMORY:
        return f"it used more than {settings.limits.memory_bytes / 2**20:g} MiB of memory"
    if os.WIFEXITED(status):
        return f"the process ended itself (exit status {os.WEXITSTATUS(status)})"
    number = os.WTERMSIG(status)
    known = {
        signal.SIGXCPU: _too_much_time(settings),
        signal.SIGSEGV: "Python itself crashed (segmentation fault)",
        signal.SIGKILL: "the process was ended",
    }
    return known.get(
        signal.Signals(number), f"the process was ended by {signal.Signals(number).name}"
    )
