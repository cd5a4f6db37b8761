"""The functions that `first_leak` is asked about: right ones, leaking ones, and ones that break.

Each maps (S, d) to (S, d_v); what is promised of them stands in `tests/unit/test_leaks.py`."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class Example:
    """A function to look for leaks in. `told` says what it computes; a name makes it again."""

    name: str
    told: str
    fn: Callable[[Array], Array]
    position: int | None = None

    def __call__(self, x: Array) -> Array:
        """What the function gives for x."""
        return np.asarray(self.fn(x))

    def __repr__(self) -> str:
        return f"check.example({self.name!r})"


# --- pieces -----------------------------------------------------------------------------------


def causal(length: int, offset: int = 0) -> Array:
    """True where key j ≤ i + offset."""
    return np.tri(length, k=offset, dtype=bool)


def attend(x: Array, mask: Array, values: Array | None = None) -> Array:
    """Attention of x to itself under a mask, with other values if they are given."""
    scores = x @ x.T / np.sqrt(x.shape[-1])  # (S, S)
    return np.asarray(weights_of(scores, mask) @ (x if values is None else values))  # (S, d_v)


def weights_of(scores: Array, mask: Array) -> Array:
    """The softmax of the allowed scores of each row; zeros where nothing is allowed."""
    scores = np.where(mask, scores, -np.inf)  # (S, S)
    highest = scores.max(axis=-1, keepdims=True)  # (S, 1)
    exponentials = np.exp(scores - np.where(np.isneginf(highest), 0.0, highest))  # (S, S)
    total = exponentials.sum(axis=-1, keepdims=True)  # (S, 1)
    return np.asarray(exponentials / np.where(total == 0, 1.0, total))  # (S, S)


def means(x: Array) -> Array:
    """The mean of each position and those before it: the simplest right function."""
    return np.asarray(np.cumsum(x, axis=0) / np.arange(1, len(x) + 1)[:, None])  # (S, d)


def later(x: Array, each: Callable[[Array], Array]) -> Array:
    """For every position, what lies after it: Σ over later inputs of `each`, unevenly weighted.

    The weights … 1/9, 1/3, 1 keep changes of different signs from cancelling each other.
    """
    uneven = 3.0 ** np.arange(1 - x.size, 1).reshape(x.shape)  # (S, d)
    sums = (uneven * each(x)).sum(axis=1)  # (S,)
    return np.append(np.cumsum(sums[::-1])[::-1][1:], 0.0)  # (S,)


def beside(x: Array, moved: Array, rows: Array, feature: int = -1) -> Array:
    """The running means, with `moved` added to one feature in `rows`."""
    output = means(x)  # (S, d)
    output[:, feature] += moved * rows  # (S,)
    return output


def plus(x: Array, moved: Array) -> Array:
    """The running means, with `moved` (S,) added to every feature."""
    return np.asarray(means(x) + moved[:, None])  # (S, d)


def from_row(x: Array, first: int) -> Array:
    """True for the rows from `first` on."""
    return np.arange(len(x)) >= first


def largest_later(x: Array) -> Array:
    """For every position the largest absolute input after it, 0 for the last."""
    sizes = np.abs(x).max(axis=1)  # (S,)
    return np.append(np.maximum.accumulate(sizes[::-1])[::-1][1:], 0.0)  # (S,)


# --- right functions, usual and unusual -------------------------------------------------------


def window(x: Array) -> Array:
    """Causal attention to the position itself and the one before it."""
    return attend(x, causal(len(x)) & ~causal(len(x), -2))


def documents(x: Array) -> Array:
    """Causal attention inside documents of two positions each."""
    ids = np.arange(len(x)) // 2  # (S,)
    return attend(x, causal(len(x)) & (ids[:, None] == ids))


def in_float32(x: Array) -> Array:
    """Causal attention, computed and returned in float32."""
    return attend(x.astype(np.float32), causal(len(x))).astype(np.float32)


def global_maximum(x: Array) -> Array:
    """Causal attention whose scores, of unit vectors, are shifted by the maximum of them all."""
    units = x / (np.abs(x).sum(axis=1, keepdims=True) + 1.0)  # (S, d)
    scores = 3.0 * units @ units.T  # (S, S)
    exponentials = np.exp(scores - scores.max()) * causal(len(x))  # (S, S)
    return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True) @ x)


def by_length(x: Array) -> Array:
    """The sum so far, divided by the length of the whole sequence."""
    return np.asarray(np.cumsum(x, axis=0) / len(x))


def positions_only(x: Array) -> Array:
    """The number of the position, whatever the inputs are."""
    return np.arange(len(x), dtype=float)[:, None]


# With these inputs the last bits of `global_maximum` do differ, whatever is changed.
ROUNDED = (
    np.array([[0.31, -0.25], [-0.45, 0.18], [0.33, 0.42], [-0.24, -0.36]]),
    np.array([[-0.33, -0.31], [-0.1, -0.13], [-0.44, 0.33], [-0.19, -0.32]]),
)
RIGHT = (
    Example("causal attention", "causal attention", lambda x: attend(x, causal(len(x)))),
    Example("sliding window", "causal attention to the last two positions", window),
    Example("documents", "causal attention inside documents of two positions", documents),
    Example("float32", "causal attention in float32", in_float32),
    Example("global maximum", "causal attention that shifts its scores by one maximum, taken from "
            "the whole table: the last bits of the output may then differ", global_maximum),
    Example("strictly before", "attention to earlier positions only; the first has none, and gives "
            "zeros", lambda x: attend(x, causal(len(x), -1))),
    Example("running mean", "the mean of each input and those before it", means),
    Example("divided by the length", "the sum so far, divided by the length of the sequence",
            by_length),
    Example("positions only", "the number of the position, whatever the inputs are",
            positions_only),
)  # fmt: skip


# --- leaks in which keys are seen -------------------------------------------------------------


def and_also(*seen: tuple[int, int]) -> Callable[[Array], Array]:
    """Causal attention in which some queries see one more key; both count from either end."""

    def fn(x: Array) -> Array:
        mask = causal(len(x))  # (S, S)
        for query, key in seen:
            mask[query, key] = True
        return attend(x, mask)

    return fn


def last_rows_see_all(x: Array) -> Array:
    """Causal attention whose last two rows see every key."""
    return attend(x, causal(len(x)) | from_row(x, len(x) - 2)[:, None])


def later_values(x: Array) -> Array:
    """Causal weights, but from row 1 on each value holds the next one too."""
    values = x.copy()  # (S, d)
    values[1:-1] += x[2:]
    return attend(x, causal(len(x)), values)


def through_normaliser(x: Array) -> Array:
    """Weights of all keys, the future ones set to 0 afterwards: they count in the sum."""
    scores = x @ x.T / np.sqrt(x.shape[-1])  # (S, S)
    everywhere = np.ones_like(scores, dtype=bool)
    return np.asarray(weights_of(scores, everywhere) * causal(len(x)) @ (x + 2.0))


def over_largest(x: Array) -> Array:
    """The running mean of the inputs, divided by the largest of the whole sequence."""
    return np.asarray(means(x) / (1.0 + np.abs(x).max()))


SEEN = (
    Example("one future key", "attention in which every position also sees the next one",
            lambda x: attend(x, causal(len(x), 1)), 0),
    Example("all future keys", "attention without a mask",
            lambda x: attend(x, np.ones((len(x), len(x)), dtype=bool)), 0),
    Example("from some row on", "causal attention whose last two rows see every key",
            last_rows_see_all, 2),
    Example("one row only", "causal attention whose row 1 also sees the last key",
            and_also((1, -1)), 1),
    Example("the last key only", "causal attention whose row 0 also sees the last key",
            and_also((0, -1)), 0),
    Example("two rows", "causal attention whose rows 1 and 2 also see the key after them",
            and_also((1, 2), (2, 3)), 1),
    Example("values alone", "causal weights, applied to values that hold the next input too, from "
            "row 1 on", later_values, 1),
    Example("normaliser", "attention whose weights for later keys are set to 0 after the softmax",
            through_normaliser, 0),
    Example("divided by the largest", "a running mean, divided by the largest input of the whole "
            "sequence", over_largest, 0),
)  # fmt: skip


# --- leaks that show in a small part of the output ----------------------------------------------


def tiny(x: Array) -> Array:
    """The running mean plus 2, moved from row 1 on by a few millionths."""
    moved = 3e-6 * np.tanh(later(x, lambda u: u)) * from_row(x, 1)  # (S,)
    return plus(x, 2.0 + moved)


def tiny_beside_large(x: Array) -> Array:
    """The running mean plus 1000, moved by a few hundred thousandths."""
    return plus(x, 1000.0 + 3e-5 * np.tanh(later(x, lambda u: u)))


def one_feature(x: Array) -> Array:
    """The running mean whose last feature alone is moved, from row 1 on."""
    return beside(x, np.tanh(later(x, lambda u: u)), from_row(x, 1))


def first_feature(x: Array) -> Array:
    """The running mean whose first feature alone is moved."""
    return beside(x, np.tanh(later(x, lambda u: u)), from_row(x, 0), feature=0)


def opposite(x: Array) -> Array:
    """The running mean, one feature moved up and another down by as much."""
    moved = np.tanh(later(x, lambda u: u))  # (S,)
    output = means(x)  # (S, d)
    output[:, 0] += moved
    output[:, -1] -= moved
    return output


def turned(x: Array) -> Array:
    """The running mean, turned by an angle of later inputs: its length stays."""
    angle = np.tanh(later(x, lambda u: u))  # (S,)
    first, last = means(x)[:, 0], means(x)[:, -1]  # (S,)
    output = means(x)  # (S, d)
    output[:, 0] = np.cos(angle) * first - np.sin(angle) * last
    output[:, -1] = np.sin(angle) * first + np.cos(angle) * last
    return output


SMALL = (
    Example("a tiny leak", "a running mean plus 2, which later inputs move by a few millionths "
            "from row 1 on", tiny, 1),
    Example("tiny beside large outputs", "a running mean plus 1000, which later inputs move by "
            "less than 0.0001", tiny_beside_large, 0),
    Example("one feature", "a running mean whose last feature is moved by later inputs, from row 1 "
            "on", one_feature, 1),
    Example("the first feature", "a running mean whose first feature is moved by later inputs",
            first_feature, 0),
    Example("downwards only", "a running mean, less the largest later input",
            lambda x: plus(x, -largest_later(x)), 0),
    Example("upwards only", "a running mean, plus the largest later input",
            lambda x: plus(x, largest_later(x)), 0),
    Example("opposite features", "a running mean, one feature moved up and the other down by as "
            "much", opposite, 0),
    Example("turned outputs", "a running mean, turned by an angle that later inputs give: its "
            "length stays", turned, 0),
)  # fmt: skip


# --- leaks that only some changes of the inputs show --------------------------------------------


def large_only(x: Array) -> Array:
    """The running mean, moved from row 1 on by later inputs beyond 10."""
    moved = np.maximum(largest_later(x) - 10.0, 0.0) * from_row(x, 1)  # (S,)
    return plus(x, moved)


def quarter_turns(x: Array) -> Array:
    """The running mean, moved by later inputs read as angles: 4 is a whole turn, and so is 100."""
    output = means(x)  # (S, d)
    output[:, 0] += later(x, lambda u: np.cos(u * np.pi / 2))
    output[:, -1] += later(x, lambda u: np.sin(u * np.pi / 2))
    return output


def moderate_only(x: Array) -> Array:
    """The running mean, moved from row 1 on by later inputs between 0.5 and 3 in size."""
    between = later(x, lambda u: 1.0 * ((np.abs(u) > 0.5) & (np.abs(u) < 3.0)))  # (S,)
    return plus(x, between * from_row(x, 1))


def with_later_row(first: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """The function, and row 2 moved by every change of later inputs."""
    return lambda x: first(x) + (np.tanh(later(x, lambda u: u)) * (np.arange(len(x)) == 2))[:, None]


def one_input_feature(x: Array) -> Array:
    """The running mean, moved by the last feature of later inputs."""
    return plus(x, np.tanh(later(x[:, -1:], lambda u: u)))


CHANGES = (
    Example("large inputs only", "a running mean, moved from row 1 on by later inputs beyond 10",
            large_only, 1),
    Example("angles", "a running mean, moved by later inputs that are read as angles, where 4 is a "
            "whole turn", quarter_turns, 0),
    Example("moderate inputs only", "a running mean, moved from row 1 on by later inputs whose "
            "size lies between 0.5 and 3", moderate_only, 1),
    Example("one input feature", "a running mean, moved by the last feature of later inputs alone",
            one_input_feature, 0),
    Example("row 1 by large inputs, row 2 by all", "a running mean, moved from row 1 on by later "
            "inputs beyond 10; row 2 by any others too", with_later_row(large_only), 1),
    Example("row 1 by moderate inputs, row 2 by all", "a running mean, moved from row 1 on by "
            "later inputs whose size lies between 0.5 and 3; row 2 by any others too",
            with_later_row(moderate_only), 1),
)  # fmt: skip
LEAKS = (*SEEN, *SMALL, *CHANGES)


# --- functions that give something that is not finite -------------------------------------------

KNOWN = np.array([[0.3, -0.2], [-0.4, 0.1], [0.2, 0.4]])


def with_row(row: int, value: float) -> Callable[[Array], Array]:
    """The running mean with one row set to `value`."""

    def fn(x: Array) -> Array:
        output = means(x)  # (S, d)
        output[row] = value
        return output

    return fn


def only_known(otherwise: float) -> Callable[[Array], Array]:
    """A right function that knows the inputs `KNOWN` only, and gives `otherwise` for others."""
    return lambda x: np.where(x == KNOWN[: len(x)], x, otherwise)


BROKEN = (
    Example("NaN throughout", "NaN everywhere", lambda x: np.full(x.shape, np.nan)),
    Example("infinity in row 1", "a running mean with infinity in row 1", with_row(1, np.inf)),
    Example("NaN in the last row", "a running mean with NaN in its last row",
            with_row(-1, np.nan)),
    Example("NaN for unknown inputs", "its input, or NaN where that is another than in this call",
            only_known(np.nan)),
    Example("infinity for unknown inputs", "its input, or infinity where that is another than in "
            "this call", only_known(np.inf)),
)  # fmt: skip

# Asked for the diagnosis only: here what is not finite reaches the outputs that are compared.
SPOILT = Example(
    "NaN everywhere for unknown inputs",
    "its input, or NaN everywhere where one is another than in this call",
    lambda x: x if np.array_equal(x, KNOWN[: len(x)]) else np.full(x.shape, np.nan),
)

BY_NAME = {example.name: example for example in (*RIGHT, *LEAKS, *BROKEN, SPOILT)}
