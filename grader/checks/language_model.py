"""Lesson 09: what `attention_backward` and `generate` must do, one mechanism a check.

Gradients are held against measured slopes or algebra, never against a formula of the lesson."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from grader import oracle
from grader.checks.ask import FLOAT32, FLOAT64, Answer, Tolerance, asking, kind_of, passed
from grader.checks.diagnose import graded
from grader.checks.models import Bigram, Counting, run_mask
from grader.checks.shrink import on_smallest
from grader.misconceptions import generate as _named_generate  # noqa: F401  (registers them)
from grader.misconceptions import language_model as _named  # noqa: F401
from grader.seeds import generator

Array = np.ndarray
Call = tuple[Array, Array, Array, Array]  # Q, K, V, grad_out
ask = asking("attention_backward")
ask_generate = asking("generate")
NAMES = ("dQ", "dK", "dV")

TRIPLE = "It must return three things: dQ, dK and dV, in this order."
SHAPES = "A gradient has the shape of what it is the gradient of."
SLOPE = "Expected is the slope that is measured by moving each number a little."
UNIFORM = "All scores of a query are equal here: every key that it may see has the same weight."
# Three keys in the plane, of which each is picked by a query that points its way.
CORNERS = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
# Square calls, on which mistakes that elsewhere only raise the same error tell themselves apart.
SQUARE = (
    np.array([[1.0, 0.5], [-1.0, 2.0]]),
    np.array([[0.5, -1.25], [1.5, 1.0]]),
    np.array([[1.0, 3.0], [-2.0, 0.5]]),
    np.array([[0.5, -1.0], [2.0, 1.0]]),
)
STACKED = tuple(np.stack([each, each[::-1] + 1.0]) for each in SQUARE)
MASKED = (*SQUARE, np.array([[True, False], [True, True]]))
SCALED = (*SQUARE, None, 0.4)


def mask_of(run: str, length: int) -> Array:
    """The mask (S, S) of a training run, "A", "B" or "C": which is which is for you to find out."""
    return run_mask(run, length)


def bigram(logits: Any) -> Bigram:
    """A model that gives the logits (V,) in row t of `logits` after token t."""
    return Bigram(np.array(logits, dtype=np.float64))


def counting(n: int) -> Counting:
    """A model of n tokens: the next one is the last id plus the number of ids in the call."""
    return Counting(n)


# --- attention_backward: what comes back --------------------------------------------------------


@graded("attention_backward", about="form", also=(SQUARE,))
def form(attention_backward: Any) -> None:
    """Three arrays, in order, each of the shape of its input."""
    for sizes in ((2, 3, 4, 5), (4, 1, 3, 2), (1, 3, 2, 4)):
        call = _call("form", sizes)
        seen = ask(attention_backward, *call)
        for part, name, given in zip(_parts(seen), NAMES, call, strict=False):
            values = _table(part, name, given.shape)
            part.must_be_finite(values, "A gradient is an ordinary number.")
    passed("attention_backward returns dQ, dK and dV, each in the shape of its input", seen)


@graded("attention_backward", about="values", also=(SQUARE,))
def values(attention_backward: Any) -> None:
    """dV where all weights of a query are alike, and where each query picks one key."""
    grad = _numbers("values", (3, 4))
    V = _numbers("values' V", (3, 4))
    seen = ask(attention_backward, np.zeros((3, 2)), np.zeros((3, 2)), V, grad)
    expected = np.tile(grad.sum(axis=0) / 3, (3, 1))
    why = "Three keys have weight 1/3 each for every query: each value takes a third of each row."
    _must_be(_part(seen, "dV", (3, 4)), expected, "wrong dV", why)
    order = [1, 2, 0]
    seen = ask(attention_backward, 100.0 * CORNERS[order], CORNERS, V, grad)
    expected = grad[[2, 0, 1]]
    why = (
        "Query 0 has all its weight on key 1, query 1 on key 2, query 2 on key 0. A value moves "
        "only the output of the query that picks it, by as much as it moves itself."
    )
    _must_be(_part(seen, "dV", (3, 4)), expected, "wrong dV", why)
    passed("attention_backward hands each value the gradients of the queries that see it", seen)


# From here on there are as many queries as keys, so that a table that is not transposed costs the
# points of its own cell and raises no error in all others.

# In the next two cells all scores are 0, and the values sum to 0: no scale and no correction of
# the softmax's gradient shows, only which way dQ and dK point.


@graded("attention_backward", about="queries", also=(SQUARE,))
def queries(attention_backward: Any) -> None:
    """dQ points the right way, whatever its length."""
    for sizes in ((3, 3, 5, 4), (4, 4, 5, 2)):
        call = _level("queries", sizes)
        seen = ask(attention_backward, *call)
        why = (
            "The queries are 0, so all weights are alike. dQ of a query says how its output moves "
            "its keys' shares; it must point this way (its length is asked elsewhere)."
        )
        _must_point(_part(seen, "dQ", call[0].shape), _expected(call)[0], "wrong dQ", why)
    passed("attention_backward gives a dQ that points the right way", seen)


@graded("attention_backward", about="keys", also=(SQUARE,))
def keys(attention_backward: Any) -> None:
    """dK points the right way, whatever its length."""
    for sizes in ((3, 3, 5, 4), (4, 4, 5, 2)):
        S_q, _, d_k, _ = sizes
        _, K, V, grad = _level("keys", sizes)
        call = (_numbers("keys' Q", (S_q, d_k)), np.zeros(K.shape), V, grad)
        seen = ask(attention_backward, *call)
        why = (
            "The keys are 0, so all weights are alike. Every query that sees a key adds to its dK; "
            "it must point this way (its length is asked elsewhere)."
        )
        _must_point(_part(seen, "dK", K.shape), _expected(call)[1], "wrong dK", why)
    passed("attention_backward gives a dK that points the right way", seen)


# --- attention_backward: through the softmax and the scale ------------------------------------


@graded("attention_backward", about="softmax", also=(SQUARE,))
def softmax(attention_backward: Any) -> None:
    """Values that are all alike give no gradient to the scores; others the measured one."""
    Q, K, V, grad = _call("softmax", (3, 3, 2, 5))
    seen = ask(attention_backward, Q, K, np.tile(V[:1], (3, 1)), grad)
    why = (
        "All values are the same here, so no change of the weights moves an output: dQ is 0. A "
        "query's weights always sum to 1: where one rises, others fall."
    )
    _must_be(_part(seen, "dQ", Q.shape), np.zeros(Q.shape), "dQ is not 0", why)

    def judge(Q: Array, K: Array, V: Array, grad: Array) -> list[Answer]:
        if Q.shape != K.shape or Q.shape[-1] != 1:
            return []  # d_k stays 1, so that the scale is 1 whichever root it is
        seen = ask(attention_backward, Q, K, V, grad)
        slope, _, _ = oracle.attention_slopes(Q, K, V, grad)
        _must_be(_part(seen, "dQ", Q.shape), slope, "wrong dQ", SLOPE)
        return [seen]

    for sizes in ((3, 3, 1, 2), (4, 4, 1, 5)):
        told = _on_smallest_call(judge, _call("softmax one", sizes))
    passed("attention_backward takes the gradient through the softmax", *told)


@graded("attention_backward", about="scale", also=(SQUARE,))
def scale(attention_backward: Any) -> None:
    """1/√d_k, in the weights and in the gradients."""
    for d_k, length, d_v in ((6, 3, 4), (9, 2, 3), (_any_width("scale"), 4, 2)):
        _must_scale(attention_backward, (length, length, d_k, d_v), None)
    passed("attention_backward scales scores and gradients by 1/√d_k")


@graded("attention_backward", about="given", also=(SQUARE, SCALED, (*SQUARE, None, 0.0)))
def given_scale(attention_backward: Any) -> None:
    """A scale that is handed over counts in the weights and in the gradients, 0.0 too."""
    odd = round(float(generator("given_scale").uniform(0.3, 1.7)), 2)
    for factor in (0.25, 2.0, odd, 0.0):
        _must_scale(attention_backward, (3, 3, 5, 4), factor)
    passed("attention_backward uses the scale that it is given")


# --- attention_backward: under a mask ---------------------------------------------------------


@graded("attention_backward", about="mask", also=(SQUARE, MASKED))
def mask(attention_backward: Any) -> None:
    """Hidden keys have no weight, and what they hold changes nothing."""
    length = 5
    places = np.arange(length)
    chosen = generator("mask").permutation(length)[:3]
    allowed = np.isin((places[:, None] + places) % length, chosen)  # three keys for every query
    Q, K, V, grad = call = _call("mask", (length, length, 3, 2))
    seen = ask(attention_backward, np.zeros(Q.shape), K, V, grad, allowed)
    why = "All scores are equal, and every query may see three keys: their weights are 1/3 each."
    _must_be(_part(seen, "dV", V.shape), allowed.T @ grad / 3, "wrong dV", why)
    _must_not_hear(attention_backward, call, np.tril(np.ones((5, 5), dtype=bool)) & (places != 3))
    seen = _must_not_hear(attention_backward, call, (places != 3)[None])
    passed("attention_backward gives hidden keys nothing, and takes nothing from them", seen)


@graded("attention_backward", about="empty", also=(SQUARE, MASKED))
def empty(attention_backward: Any) -> None:
    """A query that may attend to nothing: zeros, and nothing for others to notice."""
    for row, sizes in ((1, (3, 3, 2, 5)), (0, (2, 2, 4, 3))):
        Q, K, V, grad = call = _call("empty", sizes)
        allowed = _some_mask("empty", (len(Q), len(K)))
        allowed[row] = False
        seen = ask(attention_backward, *call, mask=allowed)
        why = f"Query {row} may attend to nothing: its output is 0 whatever the numbers are."
        part = _part(seen, "dQ", Q.shape)
        part.must_be_finite(_array(part), why)
        part.demand(bool((_array(part)[row] == 0).all()), "dQ of an empty row is not 0", why)
        for name, changed in (("dV", (_raised(Q, row), grad)), ("dK", (Q, _raised(grad, row)))):
            other = ask(attention_backward, changed[0], K, V, changed[1], mask=allowed)
            what = "the query" if name == "dV" else "its gradient"
            told = f"{why} Expected is what your function gives with other numbers for {what}."
            for each, given in (("dQ", Q), (name, K if name == "dK" else V)):
                own = _array(_part(other, each, given.shape))
                title = f"an empty row counts in {each}"
                _must_be(_part(seen, each, given.shape), own, title, told)
    nothing = np.zeros(allowed.shape, dtype=bool)
    seen = ask(attention_backward, *call, mask=nothing)
    for name, given in zip(NAMES, call, strict=False):
        why = "No query may attend to anything: all outputs are 0, and so is every gradient."
        _must_be(_part(seen, name, given.shape), np.zeros(given.shape), f"{name} is not 0", why)
    passed("attention_backward gives queries without a key zero gradients", seen)


def _raised(array: Array, row: int) -> Array:
    changed = array.copy()
    changed[row] += 2.0
    return changed


# --- attention_backward: what comes in --------------------------------------------------------


@graded("attention_backward", about="range", also=(SQUARE,))
def large(attention_backward: Any) -> None:
    """Scores near 1000, near −1000 and beyond, in one table (d_k is 1, the scale 1)."""
    offset = float(generator("large").integers(500_000, 900_000))
    Q, V, grad = np.array([[1.0], [-1.0]]), np.array([[1.0, 0.0], [3.0, 2.0]]), np.eye(2)
    for scores in ([1000.5, 999.25], [0.0, 4000.0], [offset + 0.3, offset + 1.6]):
        K = np.array(scores)[:, None]
        seen = ask(attention_backward, Q, K, V, grad)
        expected = oracle.attention_backward(Q, K, V, grad)
        why = (
            "Weights stay ordinary numbers however large or low the scores are, since only "
            "differences count; so do the gradients made of them."
        )
        for name, each in zip(NAMES, expected, strict=True):
            part = _part(seen, name, each.shape)
            part.must_be_finite(_array(part), why, each)
        right = [FLOAT64.allows(_array(_part(seen, n, expected[i].shape)), expected[i]).all()
                 for i, n in ((0, "dQ"), (2, "dV"))]  # fmt: skip
        part = _part(seen, "dV", expected[2].shape)
        part.demand(any(right), "wrong gradients", why, expected[2])
    passed("attention_backward is right for scores near 1000, near −1000 and beyond", seen)


@graded("attention_backward", about="leading", also=(STACKED,))
def leading(attention_backward: Any) -> None:
    """A stack of tables gives what each table gives alone, each under its own mask."""
    for lead, sizes in (((2,), (3, 3, 1, 2)), ((3, 2), (2, 2, 3, 1)), ((2, 2), (3, 3, 2, 4))):
        S_q, S_k, _, _ = sizes
        call = tuple(np.round(each) + 0.0 for each in _call("leading", sizes, lead))
        allowed = _some_mask(f"leading{lead}", (*lead, S_q, S_k))
        for chosen in (None, allowed):
            seen = ask(attention_backward, *call, chosen)
            for index in (tuple(0 for _ in lead), tuple(n - 1 for n in lead)):
                own_mask = None if chosen is None else chosen[index]
                alone = ask(attention_backward, *(each[index] for each in call), own_mask)
                _must_be_as_alone(seen, alone, call, index)
    passed("attention_backward works on stacks of tables, with one leading axis and with two", seen)


@graded("attention_backward", about="kinds", also=(SQUARE,))
def kinds(attention_backward: Any) -> None:
    """Integers, float32 and views of every layout give what the same numbers give in float64."""
    call = _call("kinds", (3, 3, 4, 2))
    whole = tuple(np.round(each) + 0.0 for each in call)
    for dtype in (np.int64, np.int32):
        integers = tuple(each.astype(dtype) for each in whole)
        _must_be_as_float64(attention_backward, integers)
    narrow = tuple(each.astype(np.float32) for each in call)
    _must_be_as_float64(attention_backward, narrow, FLOAT32)
    views = tuple(np.asfortranarray(np.repeat(each, 2, 1))[:, ::2] for each in call)
    seen = _must_be_as_float64(attention_backward, views, note="strided views")
    passed("attention_backward takes integers, float32 and arrays of any layout", seen)


@graded("attention_backward", about="changes")
def unchanged(attention_backward: Any) -> None:
    """The caller's arrays are the same after the call, writeable or not."""
    allowed = _some_mask("unchanged", (3, 3))
    for dtype in (np.float64, np.float32):
        call = tuple(each.astype(dtype) for each in _call("unchanged", (3, 3, 5, 4)))
        for chosen in (None, allowed):
            seen = ask(attention_backward, *call, chosen)
            seen.must_not_change()
    for each in (*call, allowed):
        each.flags.writeable = False
    seen = ask(attention_backward, *call, allowed, note="arrays that cannot be written to")
    passed("attention_backward leaves the caller's arrays alone", seen)


# --- attention_backward: shared -----------------------------------------------------------------


def _numbers(name: str, shape: tuple[int, ...]) -> Array:
    """Moderate random numbers with two decimals, so that a failing call is short to read."""
    return generator(f"{name}{shape}").normal(0.0, 1.2, shape).round(2) + 0.0  # no −0.0


def _any_width(name: str) -> int:
    """A width of queries and keys that nobody expects, and no power of 2."""
    return int(generator(name).choice([11, 12, 13, 14, 15, 17, 18, 19]))


def _call(name: str, sizes: tuple[int, int, int, int], lead: tuple[int, ...] = ()) -> Call:
    """Q, K, V and grad_out of the sizes (S_q, S_k, d_k, d_v)."""
    S_q, S_k, d_k, d_v = sizes
    shapes = ((S_q, d_k), (S_k, d_k), (S_k, d_v), (S_q, d_v))
    Q, K, V, grad = (
        _numbers(name + letter, (*lead, *s)) for letter, s in zip("QKVG", shapes, strict=True)
    )
    return Q, K, V, grad


def _level(name: str, sizes: tuple[int, int, int, int]) -> Call:
    """The same with queries of 0, and keys and values that each sum to 0."""
    Q, K, V, grad = _call(name, sizes)
    for each in (K, V):
        each[-1] = (-each[:-1].sum(axis=0)).round(2) + 0.0
    return np.zeros(Q.shape), K, V, grad


def _some_mask(name: str, shape: tuple[int, ...]) -> Array:
    """A random mask in which every query sees a key, and no row is quite like the next."""
    allowed: Array = generator(f"{name}{shape}").random(shape) < 0.5
    for index in np.ndindex(*shape[:-1]):
        allowed[(*index, index[-1] % shape[-1])] = True
        allowed[(*index, (index[-1] + 1) % shape[-1])] = False
    return allowed


def _parts(seen: Answer) -> list[Answer]:
    """The three gradients, each as an Answer of its own."""
    triple = isinstance(seen.value, tuple | list) and len(seen.value) == 3
    seen.demand(triple, f"returns {kind_of(seen.value)}", TRIPLE)
    return [replace(seen, seen=replace(seen.seen, value=part)) for part in seen.value]


def _part(seen: Answer, name: str, shape: tuple[int, ...]) -> Answer:
    """The gradient of this name, of which the shape is demanded."""
    part = _parts(seen)[NAMES.index(name)]
    _table(part, name, shape)
    return part


def _table(part: Answer, name: str, shape: tuple[int, ...]) -> Array:
    told = f"{name} must be an array of shape {shape}. {SHAPES}"
    part.demand(isinstance(part.value, np.ndarray), f"{name}: {kind_of(part.value)}", told)
    part.demand(part.value.shape == shape, f"{name}: wrong shape {part.value.shape}", told)
    return _array(part)


def _array(part: Answer) -> Array:
    return np.asarray(part.value, dtype=np.float64)


def _must_be(
    part: Answer, expected: Array, title: str, why: str, tolerance: Tolerance = FLOAT64
) -> None:
    part.must_be_finite(_array(part), why, expected)
    part.must_equal(_array(part), expected, title, why, tolerance)


def _expected(call: Call) -> oracle.Gradients:
    return oracle.attention_backward(*call)


def _must_point(part: Answer, expected: Array, title: str, why: str) -> None:
    """Equal to `expected` but for one number above 0 that multiplies it all."""
    value = _array(part)
    part.must_be_finite(value, why, expected)
    factor = _factor(value, expected)
    alike = FLOAT64.allows(value, factor * expected).all() and factor > 1e-6
    part.demand(bool(alike), title, why, expected)


def _factor(value: Array, expected: Array) -> float:
    return float((value * expected).sum() / (expected * expected).sum())


def _must_scale(
    attention_backward: Any, sizes: tuple[int, int, int, int], factor: float | None
) -> None:
    """The scale shows in the weights, and in the length of dQ and dK."""
    given = {} if factor is None else {"scale": factor}
    scaled = 1 / math.sqrt(sizes[2]) if factor is None else factor
    _must_weigh(attention_backward, sizes, scaled, given)
    S_q, S_k, d_k, _ = sizes
    thin = _level("scale", (S_q, S_k, 1, 1))
    for place, name in enumerate(NAMES[:2]):
        Q, K, V, grad = thin
        if name == "dK":  # the keys are 0 instead of the queries, which leaves dK all there is
            Q, K = _numbers("scale Q", Q.shape), np.zeros(K.shape)
        wide = (np.repeat(Q, d_k, axis=1), np.repeat(K, d_k, axis=1))
        own = _array(_part(ask(attention_backward, Q, K, V, grad), name, thin[place].shape))
        seen = ask(attention_backward, *wide, V, grad, **given)
        part = _part(seen, name, wide[place].shape)
        told = (
            f"All scores are 0 here, so that all weights are 1/{S_k} whatever the scale is. For "
            f"width 1, where no scale is needed, your {name} is {_list(own[:, 0], 3)}. Each column "
            f"must be {scaled:.4g} times that, since a score moves {scaled:.4g} times as fast as "
            "its dot product."
        )
        part.must_be_finite(_array(part), told)
        expected = scaled * np.repeat(own, d_k, axis=1) + 0.0  # no −0 is shown
        part.must_equal(_array(part), expected, f"wrong scale of {name}", told)


def _must_weigh(
    attention_backward: Any,
    sizes: tuple[int, int, int, int],
    scaled: float,
    given: dict[str, float],
) -> None:
    """The weights are those of scaled scores: dV shows it, or else dQ does.

    Two ways, so that one mistake in dV or in the softmax's gradient does not count here.
    """
    S_q, S_k, d_k, d_v = sizes
    Q, K = np.ones((S_q, d_k)), np.zeros((S_k, d_k))
    K[1] = 1.0
    seen = ask(attention_backward, Q, K, _numbers("V", (S_k, d_v)), np.ones((S_q, d_v)), **given)
    part = _part(seen, "dV", (S_k, d_v))
    taken = _array(part)
    told = (
        f"The first two scores of every query are 0 and {d_k}, unscaled. Scaled, they must lie "
        f"{scaled * d_k:.4g} apart, and the weights (here in dV) accordingly."
    )
    part.must_be_finite(taken, told)
    if (taken > 0).all() and _close(np.log(taken[1] / taken[0]), scaled * d_k):
        return
    Q = np.vstack([np.zeros((1, d_k)), Q[1:]])  # a new one: the first call is asked once more
    V = np.zeros((S_k, d_v))
    V[1] = 1.0
    other = _part(ask(attention_backward, Q, K, V, np.ones((S_q, d_v)), **given), "dQ", Q.shape)
    moved, expected = (
        _array(other),
        oracle.attention_backward(Q, K, V, np.ones((S_q, d_v)), None, scaled)[0],
    )
    other.must_be_finite(moved, told)
    alike = moved[0].any() and FLOAT64.allows(moved[1] * expected[0], expected[1] * moved[0]).all()
    part.demand(bool(alike), "wrong scale of the weights", told)


def _close(value: Array, expected: float) -> bool:
    return bool(FLOAT64.allows(value, np.full(value.shape, expected)).all())


def _must_not_hear(attention_backward: Any, call: Call, allowed: Array) -> Answer:
    """What key 3 holds, which nobody may see, changes no gradient, however loud it is."""
    Q, K, V, grad = call
    loud = K.copy(), V.copy()
    loud[0][3], loud[1][3] = 1e4, 300.0
    quiet = ask(attention_backward, *call, mask=allowed)
    seen = ask(attention_backward, Q, *loud, grad, mask=allowed)
    why = (
        "No query may attend to key 3. Expected is what your function gives when key and value 3 "
        "hold small numbers: what is hidden makes no difference."
    )
    for name, each in zip(NAMES, call, strict=False):
        own = _array(_part(quiet, name, each.shape))
        part = _part(seen, name, each.shape)
        _must_be(part, own, f"a hidden key changes {name}", why)
    return seen


def _must_be_as_alone(
    seen: Answer, alone: Answer, call: tuple[Array, ...], index: tuple[int, ...]
) -> None:
    lead = call[0].shape[:-2]
    for name, given in zip(NAMES, call, strict=False):
        part = _part(seen, name, given.shape)
        own = _array(_part(alone, name, given.shape[-2:]))
        within = replace(part, seen=replace(part.seen, value=part.value[index]))
        why = (
            f"Table {index} of a stack with leading axes {lead}. Expected is what your function "
            "gives for this table alone: stacks change nothing."
        )
        _must_be(within, own, f"other {name} in a stack", why)


def _must_be_as_float64(
    attention_backward: Any,
    call: tuple[Array, ...],
    tolerance: Tolerance = FLOAT64,
    note: str = "",
) -> Answer:
    """Asked with these arrays and with the same numbers in plain float64, it answers the same."""
    seen = ask(attention_backward, *call, note=note)
    plain = ask(attention_backward, *(np.array(each, np.float64, order="C") for each in call))
    why = "Expected is what your function gives for the same numbers as ordinary float64 arrays."
    for name, each in zip(NAMES, call, strict=False):
        own = _array(_part(plain, name, each.shape))
        title = f"other {name} for {note or call[0].dtype}"
        _must_be(_part(seen, name, each.shape), own, title, why, tolerance)
    return seen


def _on_smallest_call(
    judge: Callable[[Array, Array, Array, Array], list[Answer]], call: Call
) -> list[Answer]:
    """`on_smallest` for the four arrays of a call, which shrink together as one table.

    Queries with their gradients stand above keys with their values, a cross of infinity between.
    """
    Q, K, V, grad = call
    wide = np.full((1, Q.shape[1] + 1 + V.shape[1]), np.inf)
    above, below = (np.full((len(each), 1), np.inf) for each in (Q, K))
    table = np.vstack([np.hstack([Q, above, grad]), wide, np.hstack([K, below, V])])

    def judge_table(table: Array) -> list[Answer]:
        blank = np.isinf(table)
        rows, columns = (np.flatnonzero(blank.all(axis=axis)) for axis in (1, 0))
        if len(rows) != 1 or len(columns) != 1 or blank.sum() != sum(table.shape) - 1:
            return []  # no longer four arrays that fit each other
        row, column = int(rows[0]), int(columns[0])
        parts = (
            table[:row, :column], table[row + 1 :, :column],
            table[row + 1 :, column + 1 :], table[:row, column + 1 :],
        )  # fmt: skip
        return judge(*parts) if all(part.size for part in parts) else []

    return on_smallest(judge_table, table)


# --- generate -----------------------------------------------------------------------------------

# Here the largest logit and what a fixed seed draws first are two tokens; there it is not token 0.
EVEN = (Bigram(np.tile([0.1, 0.0, 0.0, 0.0], (4, 1))), [0], 4, np.random.default_rng(0))
SECOND = (Bigram(np.tile([0.0, 0.1, 0.0, 0.0], (4, 1))), [0], 4, np.random.default_rng(0))


@graded("generate", about="calls")
def calls(generate: Any) -> None:
    """The whole prompt in one call, then each new token alone."""
    random = generator("calls")
    for length, n_tokens in ((3, 4), (1, 3), (4, 3)):
        prompt = random.integers(0, 11, length).tolist()
        step = counting(11)
        seen = ask_generate(generate, step, prompt, n_tokens, _fresh("calls"))
        chosen = [(prompt[-1] + length + i) % 11 for i in range(n_tokens)]
        found = _readable(seen.value)
        if found and len(found) == n_tokens:
            chosen = found  # which token it chose is asked elsewhere
        expected = [prompt, *([token] for token in chosen[:-1])]
        why = (
            "step keeps what it has seen (a cache), so it must get every token once: the prompt "
            "in one call, then only the token that was just chosen. In this call it was given "
            f"{_told(step.calls)}; it must be given {_told(expected)}."
        )
        enough = n_tokens - 1 <= len(step.calls) <= n_tokens + 1
        alike = step.calls[:n_tokens] == expected[: max(len(step.calls), n_tokens - 1)]
        seen.demand(enough and alike, "step gets other tokens", why)
    passed("generate passes the prompt in one call, then each new token alone", seen)


@graded("generate", about="rows")
def rows(generate: Any) -> None:
    """The next token follows the last one of the prompt."""
    random = generator("rows")
    order, heights = random.permutation(6), 40.0 + 40.0 * np.arange(6)[:, None]
    for length in (3, 4, 2, 5):
        others = random.permutation(5)[: length - 1].tolist()
        prompt = [*others[:1], 5, *others[1:]] if length > 2 else [5, *others]
        step = bigram(np.where(np.arange(6) == order[:, None], heights, -20.0))
        seen = ask_generate(generate, step, prompt, 1, _fresh("rows"))
        expected = int(order[prompt[-1]])
        why = (
            f"step returns a row of logits for each token of the prompt. The row of its last "
            f"token, {prompt[-1]}, leaves one choice: {expected} lies far above the others."
        )
        tokens = _tokens(seen, prompt, 1)
        seen.demand(tokens[:1] == [expected], "not the token that must follow", why, [expected])
    passed("generate goes on from the last token of the prompt", seen)


@graded("generate", about="form")
def form_of_tokens(generate: Any) -> None:
    """n_tokens whole numbers, without the prompt."""
    first, then = generator("form_of_tokens").permutation(5)[:2].tolist()
    for length, n_tokens in ((3, 4), (1, 1), (2, 5)):
        prompt = [first] * length
        step = bigram(np.where(np.arange(5) == then, 0.0, np.full((5, 1), -40.0)))
        seen = ask_generate(generate, step, prompt, n_tokens, _fresh("form_of_tokens"))
        found, expected = _ids(seen), [then] * n_tokens
        why = (
            f"After every token comes {then}: the result is the {n_tokens} new token ids, "
            "without the prompt."
        )
        title = f"returns {len(found)} token{'s' * (len(found) != 1)}"
        seen.demand(len(found) == n_tokens, title, why, expected)
        seen.demand(found[0] != first, "begins with the prompt", why, expected)
    passed("generate returns the new tokens alone, as many as were asked for", seen)


@graded("generate", about="greedy", also=(EVEN,))
def greedy(generate: Any) -> None:
    """Temperature 0 takes the largest logit after the last token, every time."""
    for name, shift, length in (("greedy", 0.0, 1), ("greedy low", -60.0, 1), ("rows", 0.0, 3)):
        logits = _apart(name, 5) + shift
        prompt = generator(f"{name} prompt").permutation(5)[:length].tolist()
        if length > 1:
            logits[prompt[1]] += 9.0  # the largest logit of all is another token's
        for number in range(3):
            step, rng = bigram(logits), _fresh(f"{name}{number}")
            seen = ask_generate(generate, step, prompt, 6, rng, temperature=0)
            expected = [int(logits[prompt[-1]].argmax())]
            while len(expected) < 6:
                expected.append(int(logits[expected[-1]].argmax()))
            why = "With temperature 0 the token with the largest logit is taken, and no other."
            tokens = _tokens(seen, prompt, 6)
            fine = len(tokens) > 0 and tokens[:6] == expected[: len(tokens)]
            seen.demand(fine, "not the largest logit", why, expected)
    passed("generate takes the largest logit when the temperature is 0", seen)


@graded("generate", about="sampling", also=(EVEN, SECOND))
def sampling(generate: Any) -> None:
    """At temperature 1 tokens come as often as the softmax of the logits says."""
    order = generator("sampling").permutation(3)
    for name, shares in (("even", [0.5, 0.3, 0.2]), ("steep", [0.88, 0.09, 0.03])):
        expected = np.array(shares)[order]
        seen = _must_come_in_shares(generate, np.log(expected), expected, name, {})
    passed("generate draws tokens as often as their weights say", seen)


@graded("generate", about="temperature", also=(EVEN, SECOND))
def temperature(generate: Any) -> None:
    """A high temperature evens the shares out, a low one sharpens them."""
    order = generator("temperature").permutation(3)
    for heat, shares in ((8.0, [0.5, 0.3, 0.2]), (0.125, [0.8, 0.15, 0.05])):
        expected = np.array(shares)[order]
        logits, given = heat * np.log(expected), {"temperature": heat}
        seen = _must_come_in_shares(generate, logits, expected, f"heat {heat}", given)
    passed("generate obeys the temperature", seen)


@graded("generate", about="range", also=(EVEN,))
def large_logits(generate: Any) -> None:
    """Logits near 1000 and near −1000, and tokens that are ruled out."""
    for height in (1000.0, -1000.0):
        allowed = generator(f"large_logits{height}").permutation(4) > 1
        row = np.where(allowed, height, [-np.inf, height - 900.0, -np.inf, height - 900.0])
        step = bigram(np.tile(row, (4, 1)))
        seen = ask_generate(generate, step, [1], 12, _fresh(f"large_logits{height}"))
        tokens = _tokens(seen, [1], 12)
        ruled_out = sorted(set(tokens) - set(np.flatnonzero(allowed).tolist()))
        why = (
            f"Only tokens {np.flatnonzero(allowed).tolist()} have a weight above 0 here: the "
            "others lie 900 below, or their logit is −inf. Only differences of logits count."
        )
        seen.demand(not ruled_out, f"chooses token {(ruled_out or [0])[0]}", why)
    passed("generate takes logits of any size, and −inf", seen)


@graded("generate", about="rng")
def from_rng(generate: Any) -> None:
    """The same generator gives the same tokens, another one others."""
    seed = int(generator("from_rng").integers(10_000))
    found = []
    for entropy in (seed, seed, seed + 1):
        step, rng = bigram(np.zeros((5, 5))), np.random.default_rng(entropy)
        seen = ask_generate(generate, step, [2], 24, rng)
        found.append(_tokens(seen, [2], 24))
    why = (
        "Two calls with generators in the same state gave different tokens. All draws must come "
        "from the generator that is handed over."
    )
    seen.demand(found[0] == found[1], "not drawn with rng", why)
    drawn = len(set(found[0])) > 1
    why = (
        "Two generators in different states gave the same 24 tokens out of 5 that are equally "
        "likely. The draws must come from the generator that is handed over."
    )
    seen.demand(not drawn or found[0] != found[2], "not drawn with rng", why)
    passed("generate draws with the generator that it is given", seen)


@graded("generate", about="changes")
def prompt_unchanged(generate: Any) -> None:
    """The caller's prompt is the same after the call."""
    for length in (1, 3):
        prompt = generator(f"prompt_unchanged{length}").integers(0, 7, length).tolist()
        seen = ask_generate(generate, counting(7), prompt, 3, _fresh("prompt_unchanged"))
        seen.must_not_change(1)
    passed("generate leaves the caller's prompt alone", seen)


# --- generate: shared ---------------------------------------------------------------------------

DRAWS = 120
MOST_CHI_SQUARED = 25.0  # of three shares; chance exceeds it once in 270,000 times


def _fresh(name: str) -> np.random.Generator:
    """A generator that can be made again from a short number."""
    return np.random.default_rng(int(generator(f"rng {name}").integers(10_000)))


def _apart(name: str, n: int) -> Array:
    """Logits (n, n) of which no two in a row are close."""
    steps = generator(name).permuted(np.tile(np.arange(n) * 0.9, (n, 1)), axis=1)
    return np.round(steps - 1.3, 2)


def _told(calls: list[list[int]]) -> str:
    text = ", then ".join(map(str, calls[:4])) or "nothing"
    return text + (", …" if len(calls) > 4 else "")


def _ids(seen: Answer) -> list[int]:
    """The token ids in what was returned: a list, a tuple or an array of whole numbers."""
    why = "The result must be a list of token ids, which are whole numbers."
    ids = _readable(seen.value)
    if ids is None:
        seen.fail(f"returns {kind_of(seen.value)}, not token ids", why)
    return ids


def _readable(value: Any) -> list[int] | None:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        return None
    items = [np.asarray(item) for item in value]
    numbers = all(item.size == 1 and item.dtype.kind in "iuf" for item in items)
    if not numbers or not all(float(item.item()).is_integer() for item in items):
        return None
    return [int(item.item()) for item in items]


def _tokens(seen: Answer, prompt: list[int], n_tokens: int) -> list[int]:
    """The new ids; a prompt in front of them is asked about elsewhere."""
    ids = _ids(seen)
    with_prompt = len(ids) >= len(prompt) + n_tokens and ids[: len(prompt)] == prompt
    return ids[len(prompt) :] if with_prompt else ids


def _must_come_in_shares(
    generate: Any, logits: Array, shares: Array, name: str, given: dict[str, float]
) -> Answer:
    """Of many tokens each comes about as often as it should (χ², which chance passes)."""
    step = bigram(np.tile(np.round(logits, 3), (3, 1)))
    seen = ask_generate(generate, step, [0], DRAWS, _fresh(name), **given)
    tokens = np.array(_tokens(seen, [0], DRAWS))
    counts = np.array([(tokens == token).sum() for token in range(3)])
    expected = shares * len(tokens)
    why = (
        f"Of {len(tokens)} tokens {_list(counts)} were 0, 1 and 2; expected are about "
        f"{_list(expected)}, from softmax(logits / temperature). That far off is no chance."
    )
    apart = float(((counts - expected) ** 2 / np.maximum(expected, 1e-9)).sum())
    seen.demand(apart <= MOST_CHI_SQUARED, "other shares", why)
    return seen


def _list(numbers: Array, digits: int = 0) -> str:
    return ", ".join(f"{number:.{digits}f}" for number in numbers)
