"""Calls the student's code once and says what it did: the only place where that is done.

Knows nothing of lessons, checks or right answers; what it returns is plain data."""

import contextlib
import io
import linecache
import traceback
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np

PLAIN_DTYPES = "biufc"
MESSAGE_LIMIT = 2000
PRINT_LIMIT = 10_000


@dataclass(frozen=True)
class Raised:
    """An exception of the student's, as text: nothing of it can be raised or asked here."""

    kind: str
    message: str
    where: str

    def __str__(self) -> str:
        told = f"{self.kind}: {self.message}" if self.message else self.kind
        return f"{told} ({self.where})" if self.where else told


@dataclass(frozen=True)
class Foreign:
    """Stands for a returned object that is not plain data; only its type's name is known."""

    type_name: str


@dataclass(frozen=True)
class Observed:
    """What one call did.

    `value` is plain data or Foreign, None after an exception; `changed` names the arguments that
    hold something else than before; `peak` is in bytes above the start, None unless asked for.
    """

    value: Any = None
    error: Raised | None = None
    warnings: tuple[str, ...] = ()
    changed: tuple[int | str, ...] = ()
    printed: str = ""
    peak: int | None = None


def observe(
    function: Callable[..., Any], /, *args: Any, memory: bool = False, **kwargs: Any
) -> Observed:
    """Call `function` with copies of the arguments and return what it did.

    Copies keep writeability and memory order, so expected values can be computed from the
    originals whatever the call does to its arguments. Only KeyboardInterrupt passes through.
    """
    given: dict[int | str, Any] = dict(enumerate(args)) | kwargs
    lent = {name: lend(value) for name, value in given.items()}
    positional = [lent[index] for index in range(len(args))]
    named = {name: lent[name] for name in kwargs}
    value, error, peak = None, None, None
    printed = _BoundedText()
    with _quiet(printed) as warned, _peak_memory(memory) as measured:
        try:
            value = plain(function(*positional, **named))
        except KeyboardInterrupt:
            raise
        except BaseException as exception:
            error = describe(exception)
    peak = measured[0] if measured else None
    return Observed(
        value=value,
        error=error,
        warnings=tuple(dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in warned)),
        changed=tuple(name for name, kept in given.items() if not same(kept, lent[name])),
        printed=printed.getvalue(),
        peak=peak,
    )


class _BoundedText(io.StringIO):
    """Keeps the first PRINT_LIMIT characters that are written to it."""

    def write(self, text: str) -> int:
        super().write(text[: max(0, PRINT_LIMIT - self.tell())])
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


# --- plain data -------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """`value` as plain data of base types; what is not plain becomes Foreign.

    Arrays of a subclass come as base arrays, NumPy scalars as 0-d arrays unless they are also
    Python floats, ints or complex numbers.
    """
    if isinstance(value, np.ndarray | np.generic) and not isinstance(value, float | complex):
        array = np.asarray(value)
        return np.array(array) if array.dtype.kind in PLAIN_DTYPES else Foreign(_name_of(value))
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, complex):
        return complex(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, list | tuple):
        items = [plain(item) for item in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    return Foreign(_name_of(value))


def _name_of(value: Any) -> str:
    return type(value).__name__


def lend(value: Any) -> Any:
    """A copy of plain data or of a generator, for the student's code; the rest goes as it is."""
    if isinstance(value, np.ndarray):
        return _lend_array(value)
    if isinstance(value, list | tuple):
        return type(value)(lend(item) for item in value)
    if isinstance(value, dict):
        return {key: lend(item) for key, item in value.items()}
    if isinstance(value, np.random.Generator):
        copied = type(value.bit_generator)()
        copied.state = value.bit_generator.state
        return np.random.Generator(copied)
    return value


def _lend_array(array: np.ndarray) -> np.ndarray:
    """A copy with the same layout (C, Fortran, strided or broadcast) and the same writeability."""
    if array.size and 0 in array.strides and array.ndim:
        once = tuple(slice(0, 1) if stride == 0 else slice(None) for stride in array.strides)
        return np.broadcast_to(array[once].copy(), array.shape)
    if array.flags.c_contiguous or array.flags.f_contiguous:
        copied = array.copy(order="A")
    else:
        copied = np.empty((*array.shape, 2), array.dtype)[..., 0]
        copied[...] = array
    copied.flags.writeable = array.flags.writeable
    return copied


def same(left: Any, right: Any) -> bool:
    """Whether two pieces of plain data are equal to the last bit, NaN and −0.0 included."""
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        return (
            isinstance(left, np.ndarray)
            and isinstance(right, np.ndarray)
            and (left.shape, left.dtype) == (right.shape, right.dtype)
            and left.tobytes() == right.tobytes()
        )
    if isinstance(left, list | tuple):
        return (
            type(left) is type(right)
            and len(left) == len(right)
            and all(same(a, b) for a, b in zip(left, right, strict=True))
        )
    if isinstance(left, dict):
        return same(list(left.items()), list(right.items()))
    if isinstance(left, float | complex):
        return type(left) is type(right) and repr(left) == repr(right)
    return left is right or bool(isinstance(left, int | str) and left == right)


# --- exceptions -------------------------------------------------------------------------------


def describe(exception: BaseException) -> Raised:
    """The exception as text: type, message, and the student's line that it came from."""
    try:
        message = str(exception)
    except Exception:
        message = "(its message cannot be read)"
    return Raised(type(exception).__name__, message[:MESSAGE_LIMIT], _where(exception))


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


def _student_frames(trace: TracebackType | None) -> Iterator[tuple[Any, int]]:
    for frame, number in traceback.walk_tb(trace):
        if frame.f_globals.get("__name__") == "__main__":
            yield frame.f_code, number
