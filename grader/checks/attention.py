"""Lesson 02: what `attend` and `attention` must do, one mechanism a check.

Checks of the weights hold whatever the scale is, checks of the output whatever the weights are."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from grader import oracle
from grader.checks.ask import FLOAT32, FLOAT64, Answer, Tolerance, asking, is_real, kind_of, passed
from grader.checks.diagnose import graded
from grader.checks.shrink import on_smallest
from grader.misconceptions import attention as _named  # noqa: F401  (registers them)
from grader.seeds import generator

Array = np.ndarray
Call = tuple[Array, Array, Array]
ask_attend = asking("attend")
ask = asking("attention")

PAIR = "It must return two things: the output and the weights, in this order."
BY_HAND_KEYS = [[0.0], [math.log(3)]]
BY_HAND_VALUES = [[4.0, 0.0, 1.0], [8.0, 1.0, 1.0]]
BY_HAND_WHY = "The scores are 0 and ln 3, their exponentials 1 and 3: the weights are 1/4 and 3/4."
SHARED = "A softmax over the keys: weights above 0 that sum to 1, in the order of the scores."
PROPORTION = (
    "Two weights of a query must differ by the exponential of the (scaled) difference of their "
    "scores, and a score is the dot product of the query with a key."
)
RANGE = "Weights stay ordinary numbers however large or low the scores are; only differences count."
# Three keys in the plane, of which each is picked by a query that points its way.
CORNERS = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
PICKED = "One score lies far above the others and takes all the weight: its value comes out."
EQUAL = "A query of zeros gives every key the same score: the mean of the values comes out."
# Square calls, on which mistakes that elsewhere only raise the same error tell themselves apart.
SQUARE = (
    np.array([[1.0, 0.5], [-1.0, 2.0]]),
    np.array([[0.5, -1.25], [1.5, 1.0]]),
    np.array([[1.0, 3.0], [-2.0, 0.5]]),
)
STACKED = tuple(np.stack([each, each + 1.0]) for each in SQUARE)
SCALED = (*SQUARE, 0.7)
LISTS = (SQUARE[0][0].tolist(), SQUARE[1].tolist(), SQUARE[2].tolist())
# One low score beside an ordinary one, which tells the shifts of a softmax apart.
LOW_AND_HIGH = ([1.0], [[-800.0], [1.0]], [[1.0], [2.0]])


# --- attend -----------------------------------------------------------------------------------


@graded("attend", about="form", also=(LISTS,))
def attend_by_hand(attend: Any) -> None:
    """The case worked by hand: two lists, an output as long as a value, a weight for each key."""
    seen = ask_attend(attend, [1.0], BY_HAND_KEYS, BY_HAND_VALUES)
    output, weights = _pair(seen)
    given = _floats(output, "output", 3, "as many numbers as a value has")
    shares = _floats(weights, "weights", 2, "one for each key")
    _must_be(weights, shares, np.array([0.25, 0.75]), "wrong weights", BY_HAND_WHY)
    why = "The output is 1/4 of the first value and 3/4 of the second, added number by number."
    _must_be(output, given, np.array([7.0, 0.75, 1.0]), "wrong output", why)
    values = _numbers("attend_by_hand", (2, 3))
    seen = ask_attend(attend, [1.0], BY_HAND_KEYS, values.tolist())
    _must_come_out(seen, np.array([0.25, 0.75]) @ values, why)
    passed("attend gives the weights 1/4 and 3/4 of the case by hand, and its output", seen)


@graded("attend", about="scores", also=(LISTS,))
def attend_weights(attend: Any) -> None:
    """Weights that follow the dot products, whatever they are scaled by."""

    def judge(Q: Array, K: Array, V: Array) -> list[Answer]:
        seen = ask_attend(attend, Q[0].tolist(), K.tolist(), V.tolist())
        weights = _pair(seen)[1]
        shares = _floats(weights, "weights", len(K), "one for each key")
        _must_follow_scores(weights, shares, (Q[0], K, V))
        return [seen]

    for sizes in ((1, 4, 3, 2), (1, 2, 5, 3), (1, 5, 2, 3), (1, 1, 3, 2)):
        seen = _on_smallest_call(judge, _call("attend_weights", sizes))
    passed("attend turns dot products into weights that sum to 1", *seen)


@graded("attend", about="scale", also=(LISTS,))
def attend_scale(attend: Any) -> None:
    """How far apart the weights of a query of ones are for a key of ones and one of zeros."""
    for d_k, S_k, d_v in ((5, 3, 2), (9, 2, 3), (_any_width("attend_scale"), 4, 6)):
        keys = [[0.0] * d_k, [1.0] * d_k, *([[0.0] * d_k] * (S_k - 2))]
        seen = ask_attend(attend, [1.0] * d_k, keys, [[1.0] * d_v] * S_k)
        weights = _pair(seen)[1]
        shares = _floats(weights, "weights", S_k, "one for each key")
        _must_be_apart(weights, shares[None, :2], d_k, 1 / math.sqrt(d_k))
    passed("attend scales its scores by 1/√d_k", seen)


@graded("attend", about="output", also=(LISTS,))
def attend_output(attend: Any) -> None:
    """One value where its key has all the weight, the mean where all keys are alike."""
    values = _numbers("attend_output", (3, 4))
    for key, value in zip(CORNERS, values, strict=True):
        query = (100.0 * key).tolist()
        seen = ask_attend(attend, query, CORNERS.tolist(), values.tolist())
        _must_come_out(seen, value, PICKED)
    seen = ask_attend(attend, [0.0, 0.0], CORNERS.tolist(), values.tolist())
    _must_come_out(seen, values.mean(axis=0), EQUAL)
    passed("attend mixes the values by their weights", seen)


@graded("attend", about="range", also=(LOW_AND_HIGH, LISTS))
def attend_large(attend: Any) -> None:
    """Scores near 1000, near −1000 and beyond (d_k is 1, so that no scale changes them)."""
    offset = float(generator("attend_large").integers(500_000, 900_000))
    for query, scores in (
        (1.0, [1000.5, 999.25, 0.0]),
        (-1.0, [1000.5, 999.25]),
        (1.0, [0.0, 4000.0, 0.0, 0.0]),
        (-1.0, [offset + 0.3, offset + 1.6]),
    ):
        keys = [[score] for score in scores]
        seen = ask_attend(attend, [query], keys, [[1.0, 2.0]] * len(keys))
        weights = _pair(seen)[1]
        shares = _floats(weights, "weights", len(keys), "one for each key")
        expected = np.array(oracle.softmax_row([query * score for score in scores]))
        _must_be(weights, shares, expected, "wrong weights", RANGE)
    passed("attend is right for scores near 1000, near −1000 and beyond", seen)


@graded("attend", about="changes")
def attend_unchanged(attend: Any) -> None:
    """The caller's lists are the same after the call."""
    values = _numbers("attend_unchanged", (3, 1)).tolist()
    seen = ask_attend(attend, [1.0, 2.0], [[1.0, 0.5], [2.0, 1.0], [0.0, 3.0]], values)
    weights = _pair(seen)[1]
    _must_vary(weights, _floats(weights, "weights", 3, "one for each key"))
    seen.must_not_change()
    passed("attend leaves the caller's lists alone", seen)


def _must_come_out(seen: Answer, expected: Array, why: str) -> None:
    output = _pair(seen)[0]
    given = _floats(output, "output", len(expected), "as many numbers as a value has")
    _must_be(output, given, expected, "wrong output", why)


# --- attention --------------------------------------------------------------------------------


@graded("attention", about="form", also=(SQUARE,))
def by_hand(attention: Any) -> None:
    """The case worked by hand, beside a query that finds all keys alike."""
    Q = np.array([[1.0], [0.0]])
    seen = ask(attention, Q, np.array(BY_HAND_KEYS), np.array(BY_HAND_VALUES))
    output, weights = _pair(seen)
    shares = _table(weights, "weights", (2, 2), "a row for each query, a column for each key")
    given = _table(output, "output", (2, 3), "a row for each query, as wide as a value")
    expected = np.array([[0.25, 0.75], [0.5, 0.5]])
    _must_be(weights, shares, expected, "wrong weights", f"Row 0: {BY_HAND_WHY}")
    why = "Row 0 is 1/4 of the first value and 3/4 of the second; row 1 is half of each."
    expected = np.array([[7.0, 0.75, 1.0], [6.0, 0.5, 1.0]])
    _must_be(output, given, expected, "wrong output", why)
    V = _numbers("by_hand", (2, 3))
    output = _pair(ask(attention, Q, np.array(BY_HAND_KEYS), V))[0]
    given = _table(output, "output", (2, 3), "a row for each query, as wide as a value")
    _must_be(output, given, np.array([[0.25, 0.75], [0.5, 0.5]]) @ V, "wrong output", why)
    passed("attention gives the weights and the output of the case by hand", seen)


@graded("attention", about="scores", also=(SQUARE,))
def weights(attention: Any) -> None:
    """Every row of weights follows its query's dot products, whatever they are scaled by."""

    def judge(Q: Array, K: Array, V: Array) -> list[Answer]:
        seen = ask(attention, Q, K, V)
        part = _pair(seen)[1]
        shape = (len(Q), len(K))
        shares = _table(part, "weights", shape, "a row for each query, a column for each key")
        _must_follow_scores(part, shares, (Q, K, V))
        return [seen]

    for sizes in ((2, 3, 5, 4), (4, 2, 3, 5), (3, 5, 2, 4), (3, 3, 3, 2)):
        seen = _on_smallest_call(judge, _call("weights", sizes))
    passed("attention gives each query weights of its own, which follow the dot products", *seen)


@graded("attention", about="scale", also=(SQUARE,))
def scale(attention: Any) -> None:
    """How far apart the weights of a query of ones are for a key of ones and one of zeros."""
    for d_k, S_q, S_k, d_v in ((6, 3, 2, 5), (9, 2, 4, 3), (_any_width("scale"), 4, 3, 2)):
        Q, K, V = np.ones((S_q, d_k)), np.zeros((S_k, d_k)), np.ones((S_k, d_v))
        K[1] = 1.0
        seen = ask(attention, Q, K, V)
        part = _pair(seen)[1]
        shares = _table(part, "weights", (S_q, S_k), "a row for each query, a column for each key")
        _must_be_apart(part, shares, d_k, 1 / math.sqrt(d_k))
    passed("attention scales its scores by 1/√d_k", seen)


@graded("attention", about="given", also=(SQUARE, SCALED))
def given_scale(attention: Any) -> None:
    """A scale that is handed over multiplies the scores, 0.0 too."""
    d_k = 5
    Q, K, V = np.ones((3, d_k)), np.zeros((2, d_k)), np.ones((2, 4))
    K[1] = 1.0
    odd = round(float(generator("given_scale").uniform(0.3, 1.7)), 2)
    for factor in (1.0, 0.25, 2.0, odd, 0.0):
        seen = ask(attention, Q, K, V, scale=factor)
        part = _pair(seen)[1]
        shares = _table(part, "weights", (3, 2), "a row for each query, a column for each key")
        _must_be_apart(part, shares, d_k, factor)
    passed("attention multiplies its scores by the scale that it is given", seen)


@graded("attention", about="output", also=(SQUARE,))
def output(attention: Any) -> None:
    """Each query takes one value where its key has all the weight, the mean where all are alike."""
    V = _numbers("output", (3, 4))
    order = [1, 2, 0]
    for Q, expected, why in (
        (100.0 * CORNERS[order], V[order], PICKED),
        (np.zeros((3, 2)), np.tile(V.mean(axis=0), (3, 1)), EQUAL),
    ):
        seen = ask(attention, Q, CORNERS, V)
        part = _pair(seen)[0]
        given = _table(part, "output", (3, 4), "a row for each query, as wide as a value")
        _must_be(part, given, expected, "wrong output", why)
    passed("attention mixes the values by their weights", seen)


@graded("attention", about="leading", also=(STACKED,))
def leading(attention: Any) -> None:
    """A stack of tables gives what each table gives alone."""
    for lead, sizes in (
        ((2,), (1, 2, 3, 1)),
        ((1,), (2, 3, 2, 1)),
        ((2, 2), (2, 3, 2, 1)),
        ((2, 3), (3, 2, 5, 4)),
        ((3,), (1, 1, 3, 2)),
    ):
        call = _whole(_call("leading", sizes, lead))
        seen = ask(attention, *call)
        S_q, S_k, _, _ = sizes
        parts = _pair(seen)
        shape = (*lead, S_q, S_k)
        shares = _table(parts[1], "weights", shape, "the leading axes, then S_q and S_k")
        if min(S_q, S_k) > 1:
            _must_vary(parts[1], shares)
        for index in dict.fromkeys((tuple(0 for _ in lead), tuple(n - 1 for n in lead))):
            alone = ask(attention, *(each[index] for each in call))
            for name, part, own in zip(("output", "weights"), parts, _pair(alone), strict=True):
                _must_be_as_alone(name, part, own, lead, index)
    passed("attention works on stacks of tables, with one leading axis and with two", seen)


@graded("attention", about="range", also=(SQUARE,))
def large(attention: Any) -> None:
    """Scores near 1000, near −1000 and beyond, in one table (d_k is 1, the scale 1)."""
    offset = float(generator("large").integers(500_000, 900_000))
    Q = np.array([[1.0], [-1.0], [0.0]])
    for keys in ([1000.5, 999.25], [0.0, 4000.0, 0.0, 0.0], [offset + 0.3, offset + 1.6]):
        K, V = np.array(keys)[:, None], np.ones((len(keys), 2))
        seen = ask(attention, Q, K, V, scale=1.0)
        part = _pair(seen)[1]
        shares = _table(part, "weights", (3, len(keys)), "a row for each query")
        expected = oracle.attention(Q, K, V, scale=1.0)[1]
        _must_be(part, shares, expected, "wrong weights", RANGE)
    passed("attention is right for scores near 1000, near −1000 and beyond", seen)


@graded("attention", about="kinds")
def kinds(attention: Any) -> None:
    """Integers, float32 and views of every layout give what the same numbers give in float64."""
    Q, K, V = _whole(_call("kinds", (2, 3, 4, 1)))
    for dtype in (np.int64, np.int32):
        seen = _must_be_as_float64(attention, (Q.astype(dtype), K.astype(dtype), V.astype(dtype)))
    call = _call("kinds32", (3, 2, 5, 4))
    narrow = tuple(each.astype(np.float32) for each in call)
    _must_be_as_float64(attention, narrow, FLOAT32)  # type: ignore[arg-type]
    views = tuple(np.asfortranarray(np.repeat(each, 2, 1))[:, ::2] for each in call)
    seen = _must_be_as_float64(attention, views, note="strided views")  # type: ignore[arg-type]
    passed("attention takes integers, float32 and arrays of any layout", seen)


@graded("attention", about="changes")
def unchanged(attention: Any) -> None:
    """The caller's arrays are the same after the call, writeable or not."""
    for dtype in (np.float64, np.float32):
        call = tuple(each.astype(dtype) for each in _call("unchanged", (2, 3, 5, 4)))
        seen = ask(attention, *call)
        part = _pair(seen)[1]
        _must_vary(part, _table(part, "weights", (2, 3), "a row for each query"))
        seen.must_not_change()
    for each in call:
        each.flags.writeable = False
    seen = ask(attention, *call, note="arrays that cannot be written to")
    passed("attention leaves the caller's arrays alone", seen)


def _must_be_as_alone(
    name: str, part: Answer, own: Answer, lead: tuple[int, ...], index: tuple[int, ...]
) -> None:
    """The table at `index` of the stack is what `own` was for that table alone."""
    told = f"Table {index} of a stack with leading axes {lead}. "
    alone = own.value
    if not isinstance(alone, np.ndarray) or not isinstance(part.value, np.ndarray):
        part.fail(f"no array as {name}", f"The {name} must be an array.")
    why = f"{told}Expected is what your function gives for this table alone: stacks change nothing."
    fits = part.value.shape == (*lead, *alone.shape)
    part.demand(fits, f"wrong shape of the {name}", why, alone)
    within = replace(part, seen=replace(part.seen, value=part.value[index]))
    _must_be(within, within.value.astype(np.float64), alone, f"other {name} in a stack", why)


def _must_be_as_float64(
    attention: Any, call: Call, tolerance: Tolerance = FLOAT64, note: str = ""
) -> Answer:
    """Asked with these arrays and with the same numbers in plain float64, it answers the same."""
    seen = ask(attention, *call, note=note)
    plain = ask(attention, *(np.array(each, dtype=np.float64, order="C") for each in call))
    kind = note or str(call[0].dtype)
    why = "Expected is what your function gives for the same numbers as ordinary float64 arrays."
    for name, part, own in zip(("output", "weights"), _pair(seen), _pair(plain), strict=True):
        expected = _table(own, name, getattr(own.value, "shape", ()), "as for float64")
        value = _table(part, name, expected.shape, "as for float64")
        _must_vary(own, expected)
        part.must_equal(value, expected, f"other {name} for {kind}", why, tolerance)
    return seen


# --- shared -----------------------------------------------------------------------------------


def _numbers(name: str, shape: tuple[int, ...]) -> Array:
    """Moderate random numbers with two decimals, so that a failing call is short to read."""
    return generator(f"{name}{shape}").normal(0.0, 1.5, shape).round(2) + 0.0  # no −0.0


def _any_width(name: str) -> int:
    """A width of queries and keys that nobody expects, and no power of 2."""
    return int(generator(name).choice([11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 22, 23]))


def _call(name: str, sizes: tuple[int, int, int, int], lead: tuple[int, ...] = ()) -> Call:
    """Q, K and V of the sizes (S_q, S_k, d_k, d_v)."""
    S_q, S_k, d_k, d_v = sizes
    shapes = ((S_q, d_k), (S_k, d_k), (S_k, d_v))
    Q, K, V = (
        _numbers(name + letter, (*lead, *s)) for letter, s in zip("QKV", shapes, strict=True)
    )
    return Q, K, V


def _whole(call: Call) -> Call:
    """The same with whole numbers, where the arrays are too large to be read otherwise."""
    Q, K, V = (np.round(each) + 0.0 for each in call)
    return Q, K, V


def _on_smallest_call(
    judge: Callable[[Array, Array, Array], list[Answer]], call: Call
) -> list[Answer]:
    """`on_smallest` for the three arrays of a call, which shrink together as one table.

    Queries stand above keys with their values; beside the queries the table holds infinity.
    """
    Q, K, V = call
    beside = np.full((len(Q), V.shape[1]), np.inf)
    table = np.block([[Q, beside], [K, V]])

    def judge_table(table: Array) -> list[Answer]:
        blank = np.isinf(table)
        queries, values = blank.any(axis=1), blank.any(axis=0)
        whole = (blank == np.outer(queries, values)).all()
        if not whole or not queries.any() or queries.all() or values.all():
            return []  # no longer three arrays that fit each other
        keys = table[~queries]
        return judge(table[queries][:, ~values], keys[:, ~values], keys[:, values])

    return on_smallest(judge_table, table)


def _pair(seen: Answer) -> tuple[Answer, Answer]:
    """The two parts of what was returned, each as an Answer of its own."""
    pair = isinstance(seen.value, tuple | list) and len(seen.value) == 2
    seen.demand(pair, f"returns {kind_of(seen.value)}", PAIR)
    output, weights = (replace(seen, seen=replace(seen.seen, value=part)) for part in seen.value)
    return output, weights


def _floats(part: Answer, name: str, length: int, why: str) -> Array:
    """Demand a list of `length` floats, and return it as an array."""
    value = part.value
    told = f"The {name} must be a list of {length} float{'s' if length > 1 else ''}, {why}."
    part.demand(isinstance(value, list), f"the {name}: {kind_of(value)}", told)
    part.demand(len(value) == length, f"the {name}: length {len(value)}", told)
    part.demand(all(map(is_real, value)), f"the {name}: not all floats", told)
    return np.array([float(item) for item in value])


def _table(part: Answer, name: str, shape: tuple[int, ...], why: str) -> Array:
    """Demand a real array of this shape, and return it in float64."""
    value = part.value
    told = f"The {name} must be an array of shape {shape}: {why}."
    part.demand(isinstance(value, np.ndarray), f"the {name}: {kind_of(value)}", told)
    part.demand(value.shape == shape, f"the {name}: wrong shape {value.shape}", told)
    return np.asarray(value.astype(np.float64))


def _must_vary(part: Answer, values: Array) -> None:
    """Not one number throughout: the least that makes another demand worth something."""
    why = "The keys differ in how well they match, and the values differ: so must these numbers."
    part.demand(bool(values.size and np.ptp(values) > 0), "all numbers alike", why)


def _must_be(part: Answer, value: Array, expected: Array, title: str, why: str) -> None:
    part.must_be_finite(value, why, expected)
    part.must_equal(value, expected, title, why)


def _must_follow_scores(part: Answer, weights: Array, call: Call) -> None:
    """Each row is a softmax of its dot products times one number above 0, whichever that is."""
    Q, K, _ = call
    scores = Q @ K.T
    expected = oracle.softmax(scores / math.sqrt(K.shape[-1]))
    part.must_be_finite(weights, SHARED, expected)
    part.demand(bool((weights > 0).all()), "weights not above 0", SHARED, expected)
    sums = np.atleast_1d(weights.sum(axis=-1))
    told = f"The weights of a query sum to {', '.join(f'{total:.4g}' for total in sums)}. {SHARED}"
    part.demand(bool(FLOAT64.allows(sums, np.ones(len(sums))).all()), "sums not 1", told, expected)
    factor = _scale_in(weights, scores)
    alike = FLOAT64.allows(weights, oracle.softmax(factor * scores)).all()
    part.demand(factor > 0 and bool(alike), "wrong weights", PROPORTION, expected)


def _scale_in(weights: Array, scores: Array) -> float:
    """The number by which these scores were multiplied, if the weights are a softmax of them."""
    logarithms = np.log(weights)
    logarithms = logarithms - logarithms.mean(axis=-1, keepdims=True)
    scores = scores - scores.mean(axis=-1, keepdims=True)
    spread = float((scores * scores).sum())
    return float((logarithms * scores).sum()) / spread if spread else 1.0


def _must_be_apart(part: Answer, weights: Array, d_k: int, factor: float) -> None:
    """In each row the second weight is exp(factor · d_k) times the first."""
    part.must_be_finite(weights, SHARED)
    part.demand(bool((weights > 0).all()), "weights not above 0", SHARED)
    apart = np.log(weights[:, 1] / weights[:, 0])
    told = (
        f"Unscaled, the first two scores of a query are 0 and {d_k}. Scaled, they must lie "
        f"{factor * d_k:.4g} apart; your weights are those of scores that lie {apart[0]:.4g} apart."
    )
    expected = np.full(len(apart), factor * d_k)
    part.demand(bool(FLOAT64.allows(apart, expected).all()), "wrong scale", told)
