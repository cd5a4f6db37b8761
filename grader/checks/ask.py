"""What every check is made of: ask the student's function one thing, then demand stage by stage.

Says what happened and on which input; which lesson it is about is the caller's business."""

import re
import reprlib
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from grader.observe import (
    DIED,
    TIME_LIMIT,
    Absent,
    Handle,
    NotData,
    Observed,
    describe,
    is_callable,
    observe,
)

WIDTH = 78
BESIDE_LABEL = WIDTH - 12
LARGEST_SHOWN = 24
LONGEST_LIST = 290
LONGEST_LINE = 96  # of a call; with its label it fits beside JupyterLab's file browser
GLUE = "\xa0"  # a space at which no line is broken
MOST_AXES_SHOWN = 4


class CheckFailed(AssertionError):
    """A demand that the student's code does not meet. Shown as its text, without a traceback."""

    status = "failed"
    misconception: str | None = None

    def __init__(self, title: str, text: str) -> None:
        super().__init__(text)
        self.title = title

    def _render_traceback_(self) -> list[str]:
        return _rendered(str(self))


class NotWritten(CheckFailed, NotImplementedError):
    """The exercise still holds its stub."""

    status = "not_written"


class TooSlow(CheckFailed):
    """The student's code ran into a time limit."""

    status = "timeout"


class Stopped(KeyboardInterrupt):
    """A call that was stopped by hand: an interrupt like any other, shown without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return _rendered(str(self))


def _rendered(text: str) -> list[str]:
    first, _, rest = text.partition("\n")
    # Bold only: red on the dark theme's red ground cannot be read.
    return [f"\x1b[1m{first}\x1b[0m", *rest.split("\n")] if rest else [first]


@dataclass(frozen=True)
class Probe:
    """What a check asks: the arguments of one call, and what puts it to the student's code."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    put: Callable[..., Observed] = observe


@dataclass(frozen=True)
class Asked:
    """A probe that was put, as code to paste, and what came of it."""

    probe: Probe
    call: str
    seen: Observed


_recorders: list[list[Asked]] = []


@contextmanager
def recording() -> Iterator[list[Asked]]:
    """Collect what is asked in the block."""
    asked: list[Asked] = []
    _recorders.append(asked)
    try:
        yield asked
    finally:
        _recorders.pop()


def record(asked: Asked) -> None:
    """Tell whoever is recording what was asked."""
    for each in _recorders:
        each.append(asked)


@dataclass(frozen=True)
class Tolerance:
    """How far from the expected value a right answer may lie (contract of the course)."""

    relative: float
    absolute: float
    scaled: bool = True

    def allows(self, value: np.ndarray, expected: np.ndarray) -> np.ndarray:
        """Elementwise: |value − expected| within the bound; never true for NaN or infinity."""
        finite = np.isfinite(expected)
        largest = float(np.max(np.abs(expected), initial=1.0, where=finite)) if self.scaled else 1.0
        room = self.relative * np.abs(expected) + self.absolute * largest
        return np.asarray(finite & (np.abs(value - expected) <= room))


FLOAT64 = Tolerance(1e-6, 1e-9)
FLOAT32 = Tolerance(1e-4, 1e-6)
FLOAT16 = Tolerance(2e-3, 1e-6, scaled=False)


def asking(exercise: str) -> "Callable[..., Answer]":
    """The `ask` of one exercise: `ask(function, *args, **kwargs)` calls and returns an Answer.

    `may_raise` names an exception that is for the check to judge; any other one fails at once.
    With `memory` the answer knows its `peak`; such a call is large and slow, so that no diagnosis
    asks it again."""

    def ask(
        function: Any,
        *args: Any,
        note: str = "",
        may_raise: str | None = None,
        memory: bool = False,
        **kwargs: Any,
    ) -> Answer:
        refuse_absent(exercise, function)
        call = call_text(exercise, args, kwargs, note)
        try:
            answer = Answer(exercise, call, observe(function, *args, memory=memory, **kwargs))
        except KeyboardInterrupt as interrupt:
            lines = [f"✗ {exercise}: stopped", *labelled("call", call)]
            where = describe(interrupt).where
            lines += labelled("at", _place(where)) if where else []
            raise Stopped("\n".join(lines)) from None
        if not memory:
            record(Asked(Probe(args, kwargs), call, answer.seen))
        if answer.raised is None or answer.raised != may_raise:
            answer.refuse_error()
        return answer

    return ask


def refuse_absent(exercise: str, thing: Any) -> None:
    """Fail, and say why, when there is nothing to ask."""
    if is_callable(thing):
        return
    if isinstance(thing, Absent) and thing.reason:
        failed = CheckFailed("its cell stops", f"✗ {exercise}: its cell stops\n\n{thing.reason}")
        failed.status = thing.status
        raise failed
    raise NotWritten("not written yet", f"✗ {exercise} is not written yet.")


@dataclass(frozen=True)
class Answer:
    """What one call of the student's function gave, and the demands that can be made of it."""

    exercise: str
    call: str
    seen: Observed

    @property
    def value(self) -> Any:
        """What the call returned, as plain data."""
        return self.seen.value

    @property
    def raised(self) -> str | None:
        """The name of the exception that the call raised, if it raised one."""
        return self.seen.error.kind if self.seen.error else None

    @property
    def peak(self) -> int:
        """The most memory that the call used at once, in bytes, if that was asked for."""
        return self.seen.peak or 0

    def refuse_error(self) -> None:
        """Fail when the call raised: as not written yet for a stub, else with the exception."""
        error = self.seen.error
        if error is None:
            return
        if error.kind == "NotImplementedError":
            raise NotWritten("not written yet", f"✗ {self.exercise} is not written yet.")
        if error.kind == TIME_LIMIT:
            text = "\n".join([f"✗ {self.exercise}: too slow", *labelled("call", self.call)])
            raise TooSlow("too slow", f"{text}\n\n{error.message}")
        if error.kind == DIED:
            self._fail("stops Python", ["", *_wrapped(f"The call does not come back: {error}.")])
        if error.kind == NotData.__name__:
            message = error.message[:1].upper() + error.message[1:]
            self._fail("cannot be read", ["", *_wrapped(f"{message}.")])
        told = f"{error.kind}: {error.message}" if error.message else error.kind
        lines = labelled("raised", "\n".join(_wrapped(told, BESIDE_LABEL)))
        if error.where:
            lines += labelled("at", _place(error.where))
        self._fail(error.kind, lines)

    def fail(self, title: str, why: str, expected: Any = None) -> NoReturn:
        """Raise CheckFailed: title, call, returned, expected, why, what was warned and printed."""
        returned, wanted = shown_apart(self.value, expected)
        lines = labelled("returned", returned)
        if expected is not None:
            lines += labelled("expected", wanted)
        self._fail(title, [*lines, "", *_wrapped(why)])

    def _fail(self, title: str, told: list[str]) -> NoReturn:
        lines = [f"✗ {self.exercise}: {title}", *labelled("call", self.call), *told]
        for warning in self.seen.warnings[:2]:
            text = textwrap.shorten(warning.partition(": ")[2], 200, placeholder=" …")
            who = "NumPy warned" if warning.startswith("RuntimeWarning") else "It warned"
            lines += _wrapped(f"{who}: {text.rstrip('.')}.")
        if self.seen.printed.strip():
            lines += labelled("printed", _last_lines(self.seen.printed))
        raise CheckFailed(title, "\n".join(lines))

    def demand(self, holds: bool, title: str, why: str, expected: Any = None) -> None:
        """Fail unless `holds`."""
        if not holds:
            self.fail(title, why, expected)

    def must_be_array(self, shape: tuple[int, ...]) -> np.ndarray:
        """Demand a real array of this shape, and return it in float64."""
        value = self.value
        if not isinstance(value, np.ndarray):
            why = f"It must return an array of shape {shape}.{_without_return(value)}"
            self.fail(f"returns {kind_of(value)}", why)
        if value.shape != shape:
            why = f"The result has shape {value.shape}; it must have shape {shape}."
            self.fail("wrong shape", why)
        return value.astype(np.float64)

    def must_be_list_of_floats(self, length: int) -> np.ndarray:
        """Demand a list of `length` floats, and return it as a float64 array."""
        value = self.value
        if not isinstance(value, list):
            why = f"It must return a list of {length} floats.{_without_return(value)}"
            self.fail(f"returns {kind_of(value)}", why)
        if len(value) != length:
            why = f"One weight for each score makes {length}; the list holds {len(value)}."
            self.fail("wrong length", why)
        odd = [item for item in value if not is_real(item)]
        if odd:
            self.fail("not all floats", f"The list must hold floats; it holds {kind_of(odd[0])}.")
        return np.array([float(item) for item in value])

    def must_be_finite(self, values: np.ndarray, why: str, expected: Any = None) -> None:
        """Demand that no value is NaN or infinite."""
        if np.isnan(values).any():
            self.fail("returns NaN", why, expected)
        self.demand(bool(np.isfinite(values).all()), "returns infinity", why, expected)

    def must_equal(
        self,
        values: np.ndarray,
        expected: np.ndarray,
        title: str,
        why: str,
        tolerance: Tolerance = FLOAT64,
    ) -> None:
        """Demand `values` within the tolerance of `expected` everywhere."""
        fine = bool(tolerance.allows(values, expected).all())
        self.demand(fine, title, why, expected)

    def must_not_change(self, *names: int | str) -> None:
        """Demand that the call left these arguments as they were (all of them if none is named)."""
        changed = [name for name in self.seen.changed if not names or name in names]
        self.demand(
            not changed,
            "changes its argument",
            "The call has overwritten the caller's own data. Whatever is computed from it "
            "afterwards is wrong, and nothing says so.",
        )


def passed(what: str, *answers: Answer) -> None:
    """Print the one line of a check that passed, with any warning beside a right result."""
    warned = sorted({warning for answer in answers for warning in answer.seen.warnings})
    print(f"✓ {what}")
    for warning in warned[:2]:
        text = warning.partition(": ")[2]
        who = "NumPy warned" if warning.startswith("RuntimeWarning") else "It warned"
        print(f"  {who} ({text}); the result is right, so that costs nothing.")


# --- words ------------------------------------------------------------------------------------


def is_real(value: Any) -> bool:
    """Whether `value` is one real number: a float, an integer that equals one, a 0-d array."""
    if isinstance(value, np.ndarray):
        return bool(value.shape == () and value.dtype.kind in "fiu")
    return isinstance(value, float | int) and not isinstance(value, bool)


def kind_of(value: Any) -> str:
    """What `value` is, in words: `None`, `a list`, `an array of shape (3,)`, `an integer`."""
    if value is None:
        return "None"
    if isinstance(value, Handle):
        if value.type_name == "ndarray":
            return "an array that does not hold numbers"
        return f"an object of type {value.type_name}"
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}" if value.ndim else "a single number"
    words = {"int": "an integer", "str": "a string", "bool": "True or False", "dict": "a dict"}
    name = type(value).__name__
    return words.get(name, f"a {name}")


def labelled(label: str, text: str) -> list[str]:
    """`text` beside a label, further lines aligned below it."""
    first, *rest = text.split("\n")
    return [f"  {label:<9} {first}", *((" " * 12 + line).rstrip() for line in rest if line)]


def shown_apart(value: Any, other: Any) -> tuple[str, str]:
    """Both for reading, with as many digits as it takes to tell them apart."""
    for digits in (4, 8, 17):
        first, second = shown(value, digits), shown(other, digits)
        if _numbers_in(first) != _numbers_in(second):
            break
    return first, second


def _numbers_in(text: str) -> str:
    return "".join(text.partition("  (")[0].split())


def shown(value: Any, digits: int = 4) -> str:
    """A value for reading: a few digits, short, shape and dtype where they are not plain."""
    if isinstance(value, Handle):
        return kind_of(value)
    if isinstance(value, float | np.floating):
        return f"{value:.{digits}g}"
    if isinstance(value, np.ndarray) and value.size:
        text = _array_text(value, digits)
        plain = value.dtype == np.float64 or (value.ndim == 0 and value.dtype.kind in "iu")
        return text if plain else f"{text}  ({value.dtype})"
    if isinstance(value, list):
        whole = len(value) <= LARGEST_SHOWN
        items = [shown(item, digits) for item in (value if whole else value[:3])]
        text = ", ".join(items if whole else [*items, "…"])
        text = textwrap.shorten(f"[{text}]", LONGEST_LIST, placeholder=" …")
        return "\n".join(_wrapped(text, BESIDE_LABEL))
    return textwrap.shorten(_SHORT.repr(value), 200, placeholder=" …")


def _array_text(array: np.ndarray, digits: int = 4) -> str:
    """The numbers, or of a large array the first and last along each axis."""
    if array.size > LARGEST_SHOWN and array.ndim > MOST_AXES_SHOWN:
        return kind_of(array)  # six numbers along each of many axes are millions
    return np.array2string(
        array, suppress_small=False, threshold=LARGEST_SHOWN, max_line_width=64,
        separator=", ", formatter={"float_kind": lambda x: shown(float(x), digits)},
    )  # fmt: skip


class _Short(reprlib.Repr):
    """Takes no longer than what is shown is long: a value may be as large as a message may be."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxlist = self.maxtuple = self.maxdict = 12
        self.maxstring = self.maxlong = self.maxother = 200

    def repr_ndarray(self, array: np.ndarray, level: int) -> str:
        return " ".join(_array_text(array).split()) if array.size else repr(array)

    def repr_Handle(self, handle: Handle, level: int) -> str:  # noqa: N802  (the type's name)
        return kind_of(handle)


_SHORT = _Short()


def call_text(exercise: str, args: tuple[Any, ...], kwargs: dict[str, Any], note: str) -> str:
    """The call as it can be pasted into a cell of the lesson."""
    given = [source_of(arg) for arg in args]
    given += [f"{name}={source_of(value)}" for name, value in kwargs.items()]
    call = f"{exercise}({', '.join(given)})"
    if len(call) > LONGEST_LINE:
        call = "\n".join(_lines_of_call(exercise, given))
    return f"{call}  # {note}" if note else call


def _lines_of_call(exercise: str, given: list[str]) -> list[str]:
    """Short arguments fill a line; one that takes several lines has them for itself."""
    lines, room_left = [f"{exercise}("], True
    for argument in (*(f"{each}," for each in given[:-1]), f"{given[-1]})"):
        own = _argument_lines(argument)
        joined = f"{lines[-1]} {own[0]}".replace("( ", "(", 1)
        if room_left and len(own) == 1 and len(joined) <= LONGEST_LINE:
            lines[-1] = joined
        else:
            lines += [f"    {line}" for line in own]
        room_left = len(own) == 1
    return lines


def _argument_lines(argument: str) -> list[str]:
    """The argument, broken nowhere, or if it is long between rows, or if these are too."""
    if len(argument) <= LONGEST_LINE - 4:
        return [argument]
    rows = _broken(re.sub(r"(?<!\]), ", f",{GLUE}", argument))
    lines = rows if max(map(len, rows)) <= LONGEST_LINE - 4 else _broken(argument)
    return [line.replace(GLUE, " ") for line in lines]


def _broken(argument: str) -> list[str]:
    return textwrap.wrap(
        argument, LONGEST_LINE - 4, subsequent_indent=" " * 4, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def source_of(value: Any) -> str:
    """Python that makes `value` again, in the lesson's own names (`np`, `math`)."""
    if isinstance(value, np.ndarray):
        return _array_source(value)
    if isinstance(value, list):
        return "[" + ", ".join(source_of(item) for item in value) + "]"
    if isinstance(value, np.random.Generator):
        return _generator_source(value)
    if isinstance(value, float) and not np.isfinite(value):
        return {"inf": "math.inf", "-inf": "-math.inf"}.get(str(value), "math.nan")
    return repr(value)


def _generator_source(generator: np.random.Generator) -> str:
    """How a check made it, while nothing has been drawn from it yet."""
    sequence: Any = generator.bit_generator.seed_seq
    return f"np.random.default_rng({sequence.entropy})"


def _array_source(array: np.ndarray) -> str:
    usual = array.dtype in (np.dtype(np.float64), np.dtype(np.int64), np.dtype(bool))
    dtype = "" if usual else f", dtype=np.{array.dtype}"
    if array.size > 12 and np.unique(array).size == 1:
        return f"np.full({array.shape}, {source_of(array.flat[0].item())}{dtype})"
    if array.ndim == 2 and not dtype and len(array) > 1 and _is_identity(array):
        return f"np.eye({len(array)})"
    if array.size > 12 and _is_whole(array):
        return f"np.array({array.astype(np.int64).tolist()}, dtype=float)"
    numbers = source_of(array.tolist()).replace("math.", "np.")
    return f"np.array({numbers}{dtype})"


def _is_identity(array: np.ndarray) -> bool:
    return array.dtype == np.float64 and np.array_equal(array, np.eye(len(array)))


def _is_whole(array: np.ndarray) -> bool:
    """Whether these are floats that can be written as integers, which is shorter."""
    if array.dtype != np.float64 or not (np.abs(array) < 2**31).all():
        return False
    return bool((array == np.trunc(array)).all()) and not np.signbit(array[array == 0]).any()


def _wrapped(text: str, width: int = WIDTH) -> list[str]:
    return textwrap.wrap(text, width)


def _place(where: str) -> str:
    """Where it was raised, without the name Python gives to a comprehension or a lambda."""
    return re.sub(r"^(line \d+) of <\w+>", r"\1", where)


def _without_return(value: Any) -> str:
    return " A function that ends without `return` gives back None." if value is None else ""


def _last_lines(printed: str, count: int = 3) -> str:
    lines = [textwrap.shorten(line, WIDTH - 12) for line in printed.strip().splitlines()]
    return "\n".join(lines[-count:])
