"""The examiner's process: drives one notebook, cell by cell, and alone knows the verdicts.

It runs the instructor's set-up and graded cells; what the student wrote runs at the other end of
a channel, in a process that may lie, stall or die."""

import contextlib
import gc
import io
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from grader import ahead, seeds, wire
from grader.channel import Channel, ChannelClosed, ChannelError, ChannelTimeout
from grader.examiner import inert
from grader.examiner.control import Control, seconds_left
from grader.examiner.frames import CALL_BACK, LONGEST_FRAME, NUMBER, REPLY
from grader.examiner.jail.limits import cap_memory
from grader.examiner.png import png
from grader.names import names_in
from grader.observe import (
    DIED,
    PRINT_LIMIT,
    TIME_LIMIT,
    Absent,
    CallBack,
    Handle,
    Raised,
    Subject,
    Target,
    clean,
    replace_refs,
    texts,
)

FIGURES = "grader.figures"
OBJECTS_A_PROCESS = 10**6
PICTURES_A_CELL = 20
PICTURE_TEXT = 20_000_000  # characters of all pictures of a notebook together, in base64
MEMORY = 1024 * 2**20  # bytes that a check may take to look at a student's answers
LATE = 2.0  # seconds beyond the notebook's time after which a check itself is interrupted
TOO_LARGE = "What it gives is too large to be looked at."
OUT_OF_TIME = "The time for the whole notebook ({:g} s) was used up before this cell."


class ExaminerRole:
    """A warm examiner: the lesson's checks imported, its set-up run."""

    def set_up(self, order: dict[str, Any]) -> None:
        """Run the instructor's set-up cells in the namespace of the graded cells."""
        inert.install(FIGURES)  # graded cells draw nothing, and Matplotlib makes a fork dear
        self.names: dict[str, Any] = {"__name__": "examiner"}
        for source in order["sources"]:
            exec(compile(source, "<set-up>", "exec"), self.names)
        self._ahead = ahead.steps(bytes.fromhex(secret) for secret in order["ahead"])
        self.kept = ()

    def work_ahead(self) -> bool:
        """Do a little of what the checks would else compute anew for each notebook."""
        left = next(self._ahead, False)
        if not left:
            gc.freeze()
        return left

    def child(self, order: dict[str, Any], descriptor: int) -> None:
        """Take the plan of one notebook, carry it out, hand in the outcomes."""
        import socket

        control = Control(socket.socket(fileno=descriptor))
        plan, (channel,) = control.receive()
        with contextlib.suppress(OSError, ValueError):  # a second wall; some systems have no /proc
            cap_memory(MEMORY)
        student = Student(Channel(channel, channel), plan["pid"], first=0)
        session = Session(plan, control, student, self.names)
        session.run()
        control.send({"do": "finish", "outcomes": session.outcomes})


@dataclass
class Student:
    """The student's process as the examiner sees it: a channel, and whose objects it numbers."""

    channel: Channel
    pid: int
    first: int


class StudentGone(Exception):
    """The student's process died or was ended; says why, in words for the student."""

    def __init__(self, raised: Raised) -> None:
        super().__init__(str(raised))
        self.raised = raised


class OutOfTime(BaseException):
    """The notebook's time was used up while a check computed; passes every `except Exception`."""


class Session:
    """One notebook from top to bottom. `outcomes` has one entry for each step of the plan."""

    def __init__(
        self, plan: dict[str, Any], control: Control, student: Student, names: dict[str, Any]
    ) -> None:
        self.steps: list[dict[str, Any]] = plan["steps"]
        self.secret = bytes.fromhex(plan["secret"])
        self.times: dict[str, float] = plan["times"]
        self.deadline = time.monotonic() + self.times["notebook_seconds"]
        self.control = control
        self.names = names
        self.outcomes: list[dict[str, Any]] = []
        self.student: Student | None = student
        self.started = 1
        self.replayable: list[str] = []  # sources of student cells that ended, in order
        self.stopped: list[tuple[set[str], Raised]] = []  # what failed cells would have bound
        self.too_slow: dict[str, Raised] = {}
        self.picture_room = PICTURE_TEXT

    def run(self) -> None:
        """Carry out every step; nothing that the student does stops the next one.

        Every wait for the student has a deadline of its own. The alarm is for what the examiner
        itself computes from a student's answer, should that ever take too long.
        """
        signal.signal(signal.SIGALRM, _out_of_time)
        signal.setitimer(signal.ITIMER_REAL, seconds_left(self.deadline) + LATE)
        for step in self.steps:
            carry_out = self._run_cell if step["kind"] == "student" else self._grade
            try:
                outcome = carry_out(step)
            except OutOfTime:
                told = self._out_of_time(step)
                outcome = {"status": "timeout", "message": told, "error": told}
            except MemoryError:
                outcome = {"status": "error", "message": TOO_LARGE, "error": TOO_LARGE}
            self.outcomes.append({"id": step["id"], "kind": step["kind"], **outcome})
        signal.setitimer(signal.ITIMER_REAL, 0)

    # --- the student's cells ------------------------------------------------------------------

    def _run_cell(self, step: dict[str, Any]) -> dict[str, Any]:
        """Run a cell of the student's and keep what it drew and printed."""
        bound = (names_in(step["source"]) or (set(), set()))[0] | set(step["names"])
        for name in bound:
            self.too_slow.pop(name, None)
        try:
            raised, printed, pictures = self._run(step["source"])
        except StudentGone as gone:
            raised, printed, pictures = gone.raised, "", []
        else:
            self.replayable.append(step["source"])
        if raised:
            self.stopped.append((bound, raised))
        return {"error": str(raised) if raised else "", "printed": printed, "pictures": pictures}

    def _run(self, source: str) -> tuple[Raised | None, str, list[str]]:
        seconds = self.times["cell_seconds"]
        late = f"the cell did not end within {seconds:g} s"
        answer = self._exchange(["run", source], self._until(seconds), late)
        try:
            raised, printed, pictures = wire.decode(answer)
            error = None if raised is None else Raised(*map(clean, texts(raised, 3)))
            return error, clean(texts([printed])[0], PRINT_LIMIT), list(self._drawn(pictures))
        except (wire.WireError, TypeError, ValueError) as error:
            raise self._lost(Raised(DIED, f"what the cell gave cannot be read: {error}")) from None

    def _drawn(self, pictures: Any) -> Iterator[str]:
        """The pictures in base64, as far as they are some and there is room for them."""
        if not isinstance(pictures, list):
            raise wire.WireError("the pictures are no list")
        for picture in pictures[:PICTURES_A_CELL]:
            if not isinstance(picture, np.ndarray):
                raise wire.WireError("a picture is no array of bytes")
            encoded = png(picture.tobytes()) or ""
            self.picture_room -= len(encoded)
            if encoded and self.picture_room >= 0:
                yield encoded

    # --- graded cells -------------------------------------------------------------------------

    def _grade(self, step: dict[str, Any]) -> dict[str, Any]:
        """Run a graded cell with the public seed, then with the course's own."""
        outcome = {"status": "timeout", "message": self._out_of_time(step)}
        self.names.update(self._fetch(step["names"]))
        for secret in dict.fromkeys((b"", self.secret)):
            if self.deadline <= time.monotonic():
                return outcome
            seeds.fold_in(secret)
            outcome = self._grade_once(step)
            if outcome["status"] != "passed":
                return outcome | {"seed": "the course's own" if secret else "public"}
        return outcome

    def _out_of_time(self, step: dict[str, Any]) -> str:
        told = OUT_OF_TIME.format(self.times["notebook_seconds"])
        return f"✗ {step['exercise']}: too slow\n\n{told}" if "exercise" in step else told

    def _grade_once(self, step: dict[str, Any]) -> dict[str, Any]:
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile(step["source"], f"<cell {step['id']}>", "exec"), self.names)
        except AssertionError as failed:
            return {
                "status": getattr(failed, "status", "failed"),
                "message": str(failed),
                "misconception": getattr(failed, "misconception", None),
            }
        except MemoryError:
            return {"status": "error", "message": f"✗ {step['exercise']}: too large\n\n{TOO_LARGE}"}
        except Exception as error:
            told = f"the check itself stops with {type(error).__name__}: {error}"
            return {"status": "error", "message": f"✗ {step['exercise']}: {told}"}
        return {"status": "passed", "message": printed.getvalue()}

    def _fetch(self, names: list[str]) -> dict[str, Any]:
        """What the student's process now holds under the exercise's names."""
        try:
            late = "the process did not say in time what it holds"
            answer = self._exchange(["fetch", names], self._until(self.times["call_seconds"]), late)
            told = wire.decode(answer, refs=frozenset({"object"}))
            return {name: self._fetched(name, told[name]) for name in names}
        except StudentGone as gone:
            return dict.fromkeys(names, Absent(f"{gone.raised}.", _status(gone.raised)))
        except (wire.WireError, LookupError, TypeError, ValueError) as error:
            return dict.fromkeys(names, Absent(f"The process answers nonsense: {error}", "error"))

    def _fetched(self, name: str, told: Any) -> Any:
        match told:
            case ["function"]:
                return Subject(self, ("name", name))
            case ["value", value]:
                return replace_refs(value, lambda ref: Handle(self, ref))
            case ["absent"]:
                return self._absent(name)
        raise wire.WireError("it says neither what the name holds nor that it holds nothing")

    def _absent(self, name: str) -> Absent:
        for bound, raised in reversed(self.stopped):
            if name in bound:
                how = "did not end" if raised.kind in (TIME_LIMIT, DIED) else "stops with"
                told = f"The cell that defines it {how}: {raised}."
                return Absent(told.replace("with:", "with"), _status(raised))
        return Absent()

    # --- calls --------------------------------------------------------------------------------

    def perform(
        self, target: Target, request: bytes, call_back: CallBack, memory: bool
    ) -> tuple[bytes, int | None]:
        """Have the student's process call; whatever goes wrong is the outcome of that call."""
        what, subject = target[0], target[1]
        name = str(subject)
        if what == "name" and name in self.too_slow:
            return _outcome(self.too_slow[name]), None
        try:
            student = self._alive()
            if what != "name" and not self._owns(student, int(subject)):
                raise StudentGone(Raised(DIED, "the process that held this object has ended"))
            before = _reset_peak(student.pid) if memory else 0
            # What is measured is large: it has the time of a whole cell.
            limit = self.times["cell_seconds" if memory else "call_seconds"]
            reply = self._call(student, request, call_back, limit)
            peak = max(0, _memory(student.pid, "VmHWM") - before) if memory else None
            return reply, peak
        except StudentGone as gone:
            if gone.raised.kind == TIME_LIMIT and what == "name":
                self.too_slow[name] = gone.raised
            return _outcome(gone.raised), None

    @staticmethod
    def _owns(student: Student, number: int) -> bool:
        return student.first <= number < student.first + OBJECTS_A_PROCESS

    def _call(self, student: Student, request: bytes, call_back: CallBack, seconds: float) -> bytes:
        deadline = self._until(seconds)
        late = f"The call did not end within {seconds:g} s."
        with self._watched(late):
            student.channel.send(request, deadline)
            while True:
                frame = student.channel.receive(LONGEST_FRAME, deadline)
                if frame[:1] == REPLY:
                    return frame[1:]
                if frame[:1] != CALL_BACK or len(frame) < 1 + NUMBER.size:
                    raise wire.WireError("an answer of an unknown form")
                (number,) = NUMBER.unpack_from(frame, 1)
                student.channel.send(call_back(number, frame[1 + NUMBER.size :]), deadline)

    # --- the student's process ----------------------------------------------------------------

    def _until(self, seconds: float) -> float:
        return float(min(time.monotonic() + seconds, self.deadline))

    def _exchange(self, order: list[Any], deadline: float, late: str) -> bytes:
        student = self._alive()
        with self._watched(late):
            student.channel.send(wire.encode(order), deadline)
            return student.channel.receive(LONGEST_FRAME, deadline)

    @contextlib.contextmanager
    def _watched(self, late: str) -> Any:
        """Turn whatever happens to the channel into the end of that process, with a reason."""
        try:
            yield
        except ChannelTimeout:
            raise self._lost(Raised(TIME_LIMIT, late)) from None
        except ChannelClosed:
            raise self._lost(None) from None
        except (ChannelError, wire.WireError) as error:
            raise self._lost(Raised("NotData", f"its answer cannot be read: {error}")) from None

    def _lost(self, raised: Raised | None) -> StudentGone:
        """End the student's process; if nothing else is known, its own end is the reason."""
        assert self.student
        self.student.channel.close()
        self.student = None
        told = self.control.ask({"do": "end student", "dying": raised is None})
        return StudentGone(raised or Raised(TIME_LIMIT if told["slow"] else DIED, told["why"]))

    def _alive(self) -> Student:
        """The student's process, started anew if it is gone, with its cells replayed."""
        while self.student is None:
            if self.deadline <= time.monotonic():
                raise StudentGone(Raised(TIME_LIMIT, "The time for the whole notebook is used up."))
            if self.started > self.times["restarts"]:
                raise StudentGone(Raised(DIED, "The process died too often to be started again."))
            self._start()
            self._replay()
        return self.student

    def _start(self) -> None:
        first = self.started * OBJECTS_A_PROCESS
        self.started += 1
        self.control.send({"do": "start student", "first": first})
        told, descriptors = self.control.receive()
        self.student = Student(Channel(descriptors[0], descriptors[0]), told["pid"], first)

    def _replay(self) -> None:
        """Run the cells that ended before; one that does not end this time is left out from now."""
        for source in list(self.replayable):
            try:
                self._run(source)
            except StudentGone:
                self.replayable.remove(source)
                return


def _status(raised: Raised) -> str:
    return "timeout" if raised.kind == TIME_LIMIT else "error"


def _outcome(raised: Raised) -> bytes:
    """The encoded outcome of a call that the student's process did not give itself."""
    return wire.encode([None, [raised.kind, raised.message, raised.where], [], [], ""])


def _out_of_time(*_: Any) -> NoReturn:
    raise OutOfTime


# --- memory, measured from outside --------------------------------------------------------------
# VmHWM counts what was really touched; tracemalloc over there would be the student's own word.


def _reset_peak(pid: int) -> int:
    """Let VmHWM count from now on; the resident memory in bytes."""
    try:
        Path(f"/proc/{pid}/clear_refs").write_text("5")
    except (FileNotFoundError, ProcessLookupError):
        raise _died_measured() from None
    return _memory(pid, "VmRSS")


def _memory(pid: int, field: str) -> int:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) * 1024
    raise _died_measured()


def _died_measured() -> StudentGone:
    return StudentGone(Raised(DIED, "the process ended while its memory was measured"))
