"""Has the student's code do one thing and says what it did: the only place where that is done.

The seam between plain kernel and examiner: both go through the same bytes (`wire`). Knows nothing
of lessons, checks or right answers."""

import contextlib
import io
import linecache
import traceback
import tracemalloc
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, TracebackType
from typing import Any, NoReturn, Protocol

import numpy as np

from grader import wire
from grader.wire import Ref, WireError

MESSAGE_LIMIT = 2000
PRINT_LIMIT = 10_000
CUT = "\n… (more was printed and left out)"
WARNINGS_KEPT = 20
REFS = frozenset({"object", "function"})  # what may come to the student's side
TIME_LIMIT = "time limit"  # kinds of Raised that no exception has: a class has no space in it
DIED = "process died"
CALLBACK_BUDGET = 10_000

# (number of the lent function, its encoded arguments) → its encoded result
CallBack = Callable[[int, bytes], bytes]
# What of the student's is meant: ("name", "softmax"), ("object", 3), ("method", 3, "append"),
# ("attribute", 3, "keys"), ("length", 3), or ("keep", 3): a place beside object 3.
Target = tuple[str | int, ...]


@dataclass(frozen=True)
class Raised:
    """An exception of the student's, as text: nothing of it can be raised or asked here."""

    kind: str
    message: str
    where: str = ""

    def __str__(self) -> str:
        if self.kind in (TIME_LIMIT, DIED):
            return self.message
        told = f"{self.kind}: {self.message}" if self.message else self.kind
        return f"{told} ({self.where})" if self.where else told


@dataclass(frozen=True)
class Observed:
    """What one call did.

    `value` is plain data or a Handle, None after an exception; `changed` names the arguments that
    hold something else than before; `peak` is in bytes above the start, None unless asked for.
    """

    value: Any = None
    error: Raised | None = None
    warnings: tuple[str, ...] = ()
    changed: tuple[int | str, ...] = ()
    printed: str = ""
    peak: int | None = None


class NotData(TypeError):
    """A check treated an object of the student's as data."""


class Place(Protocol):
    """Where student code lives: in this process (Stage), or at the other end of a wire."""

    def perform(
        self, target: Target, request: bytes, call_back: CallBack, memory: bool
    ) -> tuple[bytes, int | None]:
        """Do what the encoded request asks of `target`; the outcome, encoded, and the peak."""


@dataclass(frozen=True)
class Subject:
    """Something of the student's that can be called, wherever it lives."""

    place: Place
    target: Target


class Handle:
    """Stands for an object of the student's that is no plain data, with the least possible face.

    `method(name)` can be observed like a function; `get(name)` and `length()` are observed at
    once. Whatever else Python may ask an object raises NotData, and the object is never asked.
    """

    __slots__ = ("_place", "_ref")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, place: Place, ref: Ref) -> None:
        self._place, self._ref = place, ref

    @property
    def type_name(self) -> str:
        """The name of the object's type, as its process told it."""
        return self._ref.type_name

    def method(self, name: str) -> Subject:
        """The object's public method `name`, to be passed to `observe`."""
        return Subject(self._place, ("method", self._ref.number, _public(name)))

    def get(self, name: str) -> Observed:
        """What the object's public attribute `name` holds."""
        return observe(Subject(self._place, ("attribute", self._ref.number, _public(name))))

    def length(self) -> Observed:
        """What `len` says of the object."""
        return observe(Subject(self._place, ("length", self._ref.number)))

    def keep(self, array: np.ndarray) -> Observed:
        """A copy of `array` that lies beside the object, as a Handle.

        Passed to a call it is that array itself and no further copy, so that what its method
        `fill` writes to it later is seen by whoever kept it.
        """
        return observe(Subject(self._place, ("keep", self._ref.number)), array)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise NotData(f"an object of type {self.type_name} is not data")

    __bool__ = __len__ = __iter__ = __getitem__ = __contains__ = __call__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __float__ = __int__ = __index__ = __complex__ = __array__ = __reduce_ex__ = _refuse


def _public(name: str) -> str:
    if not name.isidentifier() or name.startswith("_"):
        raise NotData(f"{name!r} is not a public name")
    return name


@dataclass(frozen=True)
class Absent:
    """Stands for a function that is not there, with the reason if one is known."""

    reason: str = ""
    status: str = "not_written"


def is_callable(thing: Any) -> bool:
    """Whether `thing` is a function of the student's, here or elsewhere."""
    return isinstance(thing, Subject) or (
        not isinstance(thing, Handle | Absent) and callable(thing)
    )


def observe(function: Any, /, *args: Any, memory: bool = False, **kwargs: Any) -> Observed:
    """Call `function` with copies of the arguments and return what it did.

    `function` is a Subject, or any callable of this process. Plain data keeps writeability and
    memory order, and generators their state, so expected values can be computed from the originals
    whatever the call does to its arguments. A function among the arguments is lent for this call.
    """
    subject = function if isinstance(function, Subject) else HERE.subject(function)
    lent = _Lent()
    request = wire.encode(["call", list(subject.target), list(args), kwargs], refer=lent.refer)
    try:
        reply, peak = subject.place.perform(subject.target, request, lent.call_back, memory)
    finally:
        lent.end()
    return _read(reply, peak, subject.place)


class _Lent:
    """The functions that a check lends to student code for the time of one call."""

    def __init__(self) -> None:
        self._functions: list[Callable[..., Any]] = []
        self._left = CALLBACK_BUDGET

    def refer(self, value: object) -> Ref:
        if isinstance(value, Handle):
            return value._ref
        if callable(value):
            self._functions.append(value)
            return Ref("function", len(self._functions) - 1, "function")
        raise WireError(f"a check may not pass an object of type {type(value).__name__}")

    def call_back(self, number: int, arguments: bytes) -> bytes:
        try:
            self._left -= 1
            if self._left < 0:
                raise WireError(f"the function was called more than {CALLBACK_BUDGET} times")
            args, kwargs = wire.decode(arguments)
            with _quiet(io.StringIO()):  # it is not the student who warns or prints here
                value = self._functions[number](*args, **kwargs)
            return wire.encode([True, value])
        except Exception as error:
            return wire.encode([False, f"{type(error).__name__}: {error}"[:MESSAGE_LIMIT]])

    def end(self) -> None:
        """Take the functions back: whoever kept one calls into nothing."""
        self._functions.clear()


# --- the student's side -----------------------------------------------------------------------


def read_order(request: bytes) -> list[Any]:
    """What the student's side is asked to do, read anew: its arguments are nobody else's."""
    return list(wire.decode(request, REFS, generators=True))


class Kept:
    """An array that stays on the student's side between calls."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def fill(self, value: float) -> None:
        """Overwrite every number of it."""
        self.array.fill(value)


class Stage:
    """The student's side: names and objects, and the one way in which they are called.

    The same code runs in a plain kernel and in the examiner's student process.
    """

    def __init__(self, names: Mapping[str, Any], interruptible: bool, first: int = 0) -> None:
        self.names = names
        self.first = first  # the number of the first object, so that no two processes share one
        self.objects: list[Any] = []
        self._passes = (KeyboardInterrupt,) if interruptible else ()

    def subject(self, function: Any) -> Subject:
        """`function` as something that can be observed here."""
        return Subject(self, ("object", self.refer(function).number))

    def refer(self, value: object) -> Ref:
        """Remember an object that stays here, and give it a number."""
        self.objects.append(value)
        return Ref("object", self.first + len(self.objects) - 1, wire.type_name(value))

    def fetch(self, names: list[str]) -> bytes:
        """What each name holds, encoded: ["absent"], ["function"], or ["value", plain data]."""

        def told(name: str) -> list[Any]:
            if name not in self.names:
                return ["absent"]
            value = self.names[name]
            if callable(value):
                return ["function"]
            try:
                wire.encode(value, refer=self.refer)
            except WireError:
                return ["absent"]
            return ["value", value]

        return wire.encode({name: told(name) for name in names}, refer=self.refer)

    def perform(
        self, target: Target, request: bytes, call_back: CallBack, memory: bool
    ) -> tuple[bytes, int | None]:
        """Call once, watching; whatever the student's code raises is part of the outcome."""
        return self.carry_out(read_order(request), request, call_back, memory)

    def carry_out(
        self, order: list[Any], request: bytes, call_back: CallBack, memory: bool = False
    ) -> tuple[bytes, int | None]:
        """The same for who has read the request already; the call gets what stands in `order`."""
        target: Any = tuple(order[1])
        loan = _Loan(call_back)
        lent, kept = self._arguments(order, loan), self._arguments(read_order(request), loan)
        value, error = None, None
        printed = BoundedText()
        with _quiet(printed) as warned, _peak_memory(memory) as measured:
            try:
                value = self._resolve(target)(*lent[0], **lent[1])
            except self._passes:
                raise
            except BaseException as exception:
                error = describe(exception)
            finally:
                loan.over = True
        reply = self._report(value, error, warned, _changed(kept, lent), printed.getvalue())
        return reply, measured[0] if measured else None

    def _arguments(self, order: list[Any], loan: "_Loan") -> list[Any]:
        def resolve(ref: Ref) -> Any:
            if ref.kind == "object":
                held = self._object(ref.number)
                return held.array if type(held) is Kept else held
            return loan.function(ref.number)

        return list(replace_refs(order[2:], resolve))

    def _resolve(self, target: Target) -> Callable[..., Any]:
        match target:
            case ("name", str(name)):
                return self.names[name]  # type: ignore[no-any-return]
            case ("object", int(number)):
                return self._object(number)  # type: ignore[no-any-return]
            case ("method", int(number), str(name)):
                return getattr(self._object(number), name)  # type: ignore[no-any-return]
            case ("attribute", int(number), str(name)):
                return lambda: getattr(self._object(number), name)
            case ("length", int(number)):
                return lambda: len(self._object(number))
            case ("keep", int()):
                return Kept
        raise WireError(f"{target!r} means nothing")

    def _object(self, number: int) -> Any:
        return self.objects[number - self.first]

    def _report(
        self,
        value: Any,
        error: Raised | None,
        warned: list[warnings.WarningMessage],
        changed: list[int | str],
        printed: str,
    ) -> bytes:
        told = [clean(_warning_text(w)) for w in warned]
        rest = [list(dict.fromkeys(told))[:WARNINGS_KEPT], changed, clean(printed, PRINT_LIMIT)]
        try:
            raised = list(map(clean, (error.kind, error.message, error.where))) if error else None
            return wire.encode([value, raised, *rest], refer=self.refer)
        except WireError as refused:
            return wire.encode(
                [None, ["NotData", f"what it returns cannot be read: {refused}", ""], *rest]
            )


def _warning_text(warning: warnings.WarningMessage) -> str:
    name = str(warning.category.__name__)
    return _text_of(lambda: f"{name}: {warning.message}", f"{name}: (its message cannot be read)")


class _Loan:
    """The functions of the check's that student code holds during one call."""

    def __init__(self, call_back: CallBack) -> None:
        self._call_back = call_back
        self.over = False

    def function(self, number: int) -> Callable[..., Any]:
        """One of them, as student code holds it: it can be called, not inspected."""

        def function(*args: Any, **kwargs: Any) -> Any:
            if self.over:
                raise RuntimeError("this function was lent for one call, and that call is over")
            worked, value = wire.decode(self._call_back(number, wire.encode([list(args), kwargs])))
            if not worked:
                raise RuntimeError(value)
            return value

        return function


def _changed(kept: list[Any], lent: list[Any]) -> list[int | str]:
    """Which arguments hold something else than before: positions, then names."""
    positions = [i for i, (a, b) in enumerate(zip(kept[0], lent[0], strict=True)) if _differ(a, b)]
    return positions + [name for name in kept[1] if _differ(kept[1][name], lent[1][name])]


def _differ(kept: Any, lent: Any) -> bool:
    changeable = isinstance(kept, np.ndarray | list | dict)
    return changeable and not wire.same(kept, lent)


class BoundedText(io.StringIO):
    """Keeps the first PRINT_LIMIT characters written to it, and says if there were more."""

    def write(self, text: str) -> int:
        """Keep what there is room for."""
        room = PRINT_LIMIT - len(CUT) - self.tell()
        if room > 0:
            super().write(text[:room] + (CUT if len(text) > room else ""))
        return len(text)


@contextlib.contextmanager
def _quiet(printed: io.StringIO) -> Iterator[list[warnings.WarningMessage]]:
    """Collect what is printed and warned, under NumPy's default error state."""
    with (
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
        warnings.catch_warnings(record=True) as warned,
        np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"),
    ):
        warnings.simplefilter("always")
        yield warned


@contextlib.contextmanager
def _peak_memory(wanted: bool) -> Iterator[list[int]]:
    """Yield a list that holds the peak of traced memory in bytes once the block has ended."""
    measured: list[int] = []
    if not wanted:
        yield measured
        return
    tracemalloc.start()
    try:
        yield measured
        measured.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


HERE = Stage({}, interruptible=True)


# --- reading a reply --------------------------------------------------------------------------


def _read(reply: bytes, peak: int | None, place: Place) -> Observed:
    """The outcome that a reply tells; one that breaks the wire's rules is an error of that call."""
    try:
        value, raised, warned, changed, printed = wire.decode(reply, refs=frozenset({"object"}))
        return Observed(
            value=replace_refs(value, lambda ref: Handle(place, ref)),
            error=None if raised is None else Raised(*map(clean, texts(raised, 3))),
            warnings=tuple(map(clean, texts(warned)[:WARNINGS_KEPT])),
            changed=tuple(name for name in changed if isinstance(name, int | str)),
            printed=clean(texts([printed])[0], PRINT_LIMIT),
            peak=peak,
        )
    except (WireError, TypeError, ValueError) as error:
        return Observed(error=Raised("NotData", f"what it returns cannot be read: {error}"))


def texts(value: Any, count: int | None = None) -> list[str]:
    """`value` if it is a list of strings (so many, if `count` says so), else a WireError."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise WireError("the outcome of a call has another form than agreed")
    if count is not None and len(value) != count:
        raise WireError("the outcome of a call has another length than agreed")
    return value


def clean(text: str, limit: int = MESSAGE_LIMIT) -> str:
    """Text of the student's for people to read: bounded, without control characters."""
    return "".join(
        character
        for character in text[:limit]
        if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Cs")
    )


def replace_refs(value: Any, resolve: Callable[[Ref], Any]) -> Any:
    """`value` with every Ref in it replaced by what it stands for."""
    if isinstance(value, Ref):
        return resolve(value)
    if isinstance(value, list):
        return [replace_refs(item, resolve) for item in value]
    if isinstance(value, tuple):
        return tuple(replace_refs(item, resolve) for item in value)
    if isinstance(value, dict):
        return {key: replace_refs(item, resolve) for key, item in value.items()}
    return value


# --- exceptions -------------------------------------------------------------------------------


def describe(exception: BaseException) -> Raised:
    """The exception as text: type, message, and the student's line that it came from.

    Both can run code of the student's class, which may itself raise anything.
    """
    message = _text_of(lambda: str(exception), "(its message cannot be read)")
    return Raised(wire.type_name(exception), message, _text_of(lambda: _where(exception), ""))


def _text_of(tell: Callable[[], str], otherwise: str) -> str:
    try:
        return tell()[:MESSAGE_LIMIT]
    except BaseException:
        return otherwise


def _where(exception: BaseException) -> str:
    """The last line that ran in the student's own cells, `line 4 of softmax: return e / total`."""
    if isinstance(exception, SyntaxError):
        return f"line {exception.lineno}: {(exception.text or '').strip()}"
    frames = list(_student_frames(exception.__traceback__))
    if not frames:
        return ""
    code, number = frames[-1]
    text = linecache.getline(code.co_filename, number).strip()
    place = f"line {number} of {code.co_name}" if code.co_name != "<module>" else f"line {number}"
    return f"{place}: {text}" if text else place


def _student_frames(trace: TracebackType | None) -> Iterator[tuple[CodeType, int]]:
    for frame, number in traceback.walk_tb(trace):
        if frame.f_globals.get("__name__") == "__main__":
            yield frame.f_code, number
