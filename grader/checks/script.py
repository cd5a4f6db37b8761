"""What a check asks of objects that remember: a script, a few lines that use them one by one.

Plays it, says what each line did, and writes it as code to paste; judges nothing."""

# ruff: noqa: D102  (Line says what the methods of every line do)

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from grader.checks.ask import Answer, Probe, kind_of, record, refuse_absent, source_of
from grader.observe import DIED, TIME_LIMIT, Handle, NotData, Observed, Raised, observe

OVERWRITTEN = 9.0
OUTPUTS = "outputs"  # the name of what a step gives in pieces
Pieces = Sequence[tuple[int, int]]  # chunks: the position of the first token, and of the next chunk


@dataclass
class Scene:
    """What a script plays with: the student's code, and the caches that it has made."""

    KVCache: Any
    decode_step: Any
    caches: dict[str, Handle] = field(default_factory=dict)


# --- lines ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line(ABC):
    """One line of a script, about one cache; `exercise` is whose code it runs."""

    cache: str = field(default="cache", kw_only=True)
    exercise: ClassVar[str] = "KVCache"

    @abstractmethod
    def text(self) -> str:
        """The line as code to paste."""

    @abstractmethod
    def calls(self, scene: Scene) -> Iterator[Observed]:
        """Do it, call by call."""

    def value(self, values: list[Any]) -> Any:
        """What the line tells, of what its calls returned."""
        return values[0]


@dataclass(frozen=True)
class New(Line):
    """A cache is made."""

    def text(self) -> str:
        return f"{self.cache} = KVCache()"

    def calls(self, scene: Scene) -> Iterator[Observed]:
        made = observe(scene.KVCache)
        if isinstance(made.value, Handle):
            scene.caches[self.cache] = made.value
        elif not made.error:
            told = f"{self.text()} gives {kind_of(made.value)}, and no object with an append"
            made = Observed(error=Raised(NotData.__name__, told))
        yield made

    def value(self, values: list[Any]) -> Any:
        return None  # an object is no data, and what its class is called is no matter


@dataclass(frozen=True, eq=False)
class Append(Line):
    """Keys (…, n, d_k) and values (…, n, d_v) are appended, all at once or in pieces."""

    K: np.ndarray
    V: np.ndarray
    pieces: Pieces = ()

    def text(self) -> str:
        if not self.pieces:
            return f"{self.cache}.append({source_of(self.K)}, {source_of(self.V)})"
        given = f"K, V = {source_of(self.K)}, {source_of(self.V)}"
        call = f"{self.cache}.append({_cut_text('K', self.K)}, {_cut_text('V', self.V)})"
        return f"{given}\nfor i, j in {list(self.pieces)}: {call}"

    def calls(self, scene: Scene) -> Iterator[Observed]:
        append = scene.caches[self.cache].method("append")
        for piece in self.pieces or [(0, self.K.shape[-2])]:
            yield observe(append, _cut(self.K, piece), _cut(self.V, piece))

    def value(self, values: list[Any]) -> Any:
        return None  # whatever append returns, nobody reads


@dataclass(frozen=True, eq=False)
class AppendThenOverwrite(Append):
    """Appended, and then the caller writes into its own arrays."""

    def text(self) -> str:
        given = f"k, v = {source_of(self.K)}, {source_of(self.V)}"
        then = f"k.fill({OVERWRITTEN}), v.fill({OVERWRITTEN})"
        return f"{given}\n{self.cache}.append(k, v)\n{then}"

    def calls(self, scene: Scene) -> Iterator[Observed]:
        cache = scene.caches[self.cache]
        own = [cache.keep(array) for array in (self.K, self.V)]
        yield from own
        yield observe(cache.method("append"), *(array.value for array in own))
        for array in own:
            yield observe(array.value.method("fill"), OVERWRITTEN)


@dataclass(frozen=True)
class Read(Line):
    """`keys` or `values` is read."""

    what: str

    def text(self) -> str:
        return f"{self.cache}.{self.what}"

    def calls(self, scene: Scene) -> Iterator[Observed]:
        yield scene.caches[self.cache].get(self.what)


@dataclass(frozen=True)
class Length(Line):
    """`len` is asked."""

    def text(self) -> str:
        return f"len({self.cache})"

    def calls(self, scene: Scene) -> Iterator[Observed]:
        yield scene.caches[self.cache].length()


@dataclass(frozen=True)
class Growth(Line):
    """By how much one cache grows while something is done to another."""

    meanwhile: Line

    def text(self) -> str:
        length = f"len({self.cache})"
        return f"before = {length}\n{self.meanwhile.text()}\n{length} - before"

    def calls(self, scene: Scene) -> Iterator[Observed]:
        yield scene.caches[self.cache].length()
        yield from self.meanwhile.calls(scene)
        yield scene.caches[self.cache].length()

    def value(self, values: list[Any]) -> Any:
        return values[-1] - values[0]


@dataclass(frozen=True, eq=False)
class Step(Line):
    """decode_step with queries, keys and values of new tokens, all at once or in pieces."""

    Q: np.ndarray
    K: np.ndarray
    V: np.ndarray
    pieces: Pieces = ()
    exercise: ClassVar[str] = "decode_step"

    def text(self) -> str:
        parts = {"Q": self.Q, "K": self.K, "V": self.V}
        if not self.pieces:
            return f"decode_step({', '.join(map(source_of, parts.values()))}, {self.cache})"
        given = f"Q, K, V = {', '.join(map(source_of, parts.values()))}"
        cut = ", ".join(_cut_text(name, part) for name, part in parts.items())
        call = f"[decode_step({cut}, {self.cache}) for i, j in {list(self.pieces)}]"
        return f"{given}\n{OUTPUTS} = {call}"

    def calls(self, scene: Scene) -> Iterator[Observed]:
        for piece in self.pieces or [(0, self.K.shape[-2])]:
            parts = [_cut(part, piece) for part in (self.Q, self.K, self.V)]
            yield observe(scene.decode_step, *parts, scene.caches[self.cache])

    def value(self, values: list[Any]) -> Any:
        return values if self.pieces else values[0]


def _cut(array: np.ndarray, piece: tuple[int, int]) -> np.ndarray:
    """The tokens of a piece; an array that is taken whole goes as it came, layout and all."""
    whole = piece == (0, array.shape[-2])
    return array if whole else array[..., slice(*piece), :]


def _cut_text(name: str, array: np.ndarray) -> str:
    return f"{name}[i:j]" if array.ndim == 2 else f"{name}[..., i:j, :]"


def pieces(sizes: Sequence[int], length: int) -> Pieces:
    """Where chunks of these sizes begin and end, as far as `length` goes."""
    ends = [min(int(end), length) for end in np.cumsum(sizes)]
    return [(i, j) for i, j in pairwise([0, *ends]) if i < j]


# --- playing ----------------------------------------------------------------------------------


def play(*given: Any) -> Observed:
    """Play a script with (KVCache, script) or (decode_step, KVCache, script) and tell the whole of
    it at once: what every line told, or what was raised, and in which line.
    """
    *things, script = given
    seen = _play(things, script)
    whole = _joined(seen, [each.value for each in seen])
    if whole.error and whole.error.kind not in (TIME_LIMIT, DIED):
        error = replace(whole.error, kind=f"{whole.error.kind} in line {len(seen)}")
        whole = replace(whole, error=error)
    return whole


def _play(things: Sequence[Any], script: Sequence[Line]) -> list[Observed]:
    """What each line did; the one that raises is the last."""
    step, cache = things if len(things) == 2 else (None, things[0])
    scene, seen = Scene(cache, step), list[Observed]()
    for line in script:
        did = list(_until_error(line.calls(scene)))
        whole = _joined(did, None)
        seen.append(whole if whole.error else _joined(did, line.value([d.value for d in did])))
        if whole.error:
            break
    return seen


def _until_error(calls: Iterator[Observed]) -> Iterator[Observed]:
    for seen in calls:
        yield seen
        if seen.error:
            return


def _joined(seen: Sequence[Observed], value: Any) -> Observed:
    """Several calls as one that returned `value`."""
    return Observed(
        value=value,
        error=seen[-1].error,
        warnings=tuple(warning for each in seen for warning in each.warnings),
        changed=tuple(name for each in seen for name in each.changed),
        printed="".join(each.printed for each in seen),
    )


def scripting(*exercises: str) -> Callable[..., list[Answer]]:
    """The `ask` of scripts that use these exercises' answers: `ask(*answers, *lines)` plays the
    lines and returns an Answer for each, which shows the script up to there.
    """

    def ask(*given: Any) -> list[Answer]:
        things, script = given[: len(exercises)], given[len(exercises) :]
        for exercise, thing in zip(exercises, things, strict=True):
            refuse_absent(exercise, thing)
        record(Probe((script,), {}, play))
        answers = []
        for count, seen in enumerate(_play(things, script), 1):
            call = text(script[:count])
            Answer(script[count - 1].exercise, call, seen).refuse_error()
            answers.append(Answer(exercises[0], call, seen))
        return answers

    return ask


def text(script: Sequence[Line]) -> str:
    """The script as code to paste; its last line tells the value."""
    lines = [line.text() for line in script]
    last = script[-1]
    return "\n".join([*lines, OUTPUTS] if isinstance(last, Step) and last.pieces else lines)
