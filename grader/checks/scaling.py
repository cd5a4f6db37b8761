"""Lesson 04: what `dot_product_std`, `peakedness` and `softmax_backward` must do.

A measurement is judged by algebra and by its scatter, never by the order in which it draws."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from grader import oracle
from grader.checks.ask import FLOAT32, FLOAT64, Answer, Tolerance, asking, is_real, kind_of, passed
from grader.checks.diagnose import graded, must_stay_below
from grader.checks.shrink import on_smallest
from grader.misconceptions import scaling as _named  # noqa: F401  (registers them)
from grader.seeds import generator

Array = np.ndarray
ask_std = asking("dot_product_std")
ask_peak = asking("peakedness")
ask_back = asking("softmax_backward")

WITHIN = 0.05
# At d_k = 1 a product of two normal numbers has long tails, so that takes twice as many.
MEASURED = ((2, 20_000), (3, 20_000), (5, 20_000), (1, 40_000))
# Asked first: with a table of all pairs the calls that measure would take gigabytes.
PAIRED = (2, 2000)
HALF_A_TABLE = 16 << 20
SCATTERED = 20
LEAST_SCATTER = 0.2

BY_HAND = np.array([0.5, 0.25, 0.25])
BY_HAND_GRAD = np.array([4.0, 0.0, 0.0])
PAIR = "It must return two things: the largest weight and the entropy, in this order."
ENTROPY = "The entropy of a row is the sum of −w · ln w over its weights, in nats."
NO_SHARE = "A weight of 0 adds nothing to the entropy: w · ln w goes to 0 with w."
SUM_0 = (
    "Adding one number to all scores of a row changes no weight. So the gradient with respect to "
    "the scores of a row must sum to 0"
)
SLOPES = (
    "Every score moves every weight of its row: dw_j/ds_i is w_j (1 − w_j) for i = j and −w_i w_j "
    "for i ≠ j. The gradient of s_i is the sum over j of grad_j · dw_j/ds_i."
)
NO_WEIGHT = (
    "A key of weight 0 is hidden, and its score has no gradient; a row of zeros is that of a query "
    "that may attend to nothing, and has none at all."
)
ALONE = "Expected is what your function gives for that row alone."
PLAIN = "Expected is what your function gives for the same numbers as ordinary float64 arrays."
# Tables on which mistakes that elsewhere only raise the same error tell themselves apart.
SQUARE = np.array([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7], [0.25, 0.7, 0.05]])
SQUARE_GRAD = np.array([[4.0, 0.0, 1.0], [0.5, -2.0, 1.0], [3.0, 1.5, -1.0]])
ROW = (np.array([0.2, 0.8]),)
ROW_GRAD = (np.array([0.2, 0.8]), np.array([1.0, 3.0]))


# --- dot_product_std --------------------------------------------------------------------------


@graded("dot_product_std", about="spread")
def spread(dot_product_std: Any) -> None:
    """The standard deviation of many dot products, for several widths."""
    must_stay_below(ask_std(dot_product_std, *PAIRED, _fresh("paired"), memory=True), HALF_A_TABLE)
    for d_k, n_samples in MEASURED:
        seen = ask_std(dot_product_std, d_k, n_samples, _fresh(f"spread{d_k}"))
        value = _number(seen, seen.value, "the standard deviation")
        expected = math.sqrt(d_k)
        why = (
            f"For vectors with d_k = {d_k} and components from N(0, 1), {n_samples} dot products "
            f"have a standard deviation within 5 % of {expected:.3f}."
        )
        seen.must_be_finite(np.array(value), why)
        seen.demand(abs(value / expected - 1) <= WITHIN, "wrong spread", why)
    passed("dot_product_std finds the spread of dot products of several widths", seen)


@graded("dot_product_std", about="measured")
def measured(dot_product_std: Any) -> None:
    """Few samples scatter from generator to generator; the same generator gives the same."""
    seed = _seed("measured")
    first = ask_std(dot_product_std, 3, 20, np.random.default_rng(seed))
    again = ask_std(dot_product_std, 3, 20, np.random.default_rng(seed))
    values = [_number(each, each.value, "the standard deviation") for each in (first, again)]
    why = (
        f"Two calls with generators in the same state gave {values[0]:.6g} and {values[1]:.6g}. "
        "What is drawn must come from the generator that is handed over."
    )
    alike = bool(FLOAT64.allows(np.array(values[1]), np.array(values[0])))
    again.demand(alike, "not drawn with rng", why)
    for number in range(1, SCATTERED):
        seen = ask_std(dot_product_std, 3, 20, _fresh(f"measured{number}"))
        values.append(_number(seen, seen.value, "the standard deviation"))
    scatter = float(np.ptp(values) / max(abs(np.mean(values)), 1e-300))
    why = (
        f"{SCATTERED} generators, 20 samples each: a measurement from so few samples scatters by "
        f"tens of per cent. Yours lie between {min(values):.4g} and {max(values):.4g}."
    )
    seen.demand(scatter > LEAST_SCATTER, "does not scatter", why)
    passed("dot_product_std measures: 20 samples scatter, and the generator decides how", seen)


def _seed(name: str) -> int:
    return int(generator(name).integers(10_000))


def _fresh(name: str) -> np.random.Generator:
    """A generator that can be made again from a short number."""
    return np.random.default_rng(_seed(name))


def _number(seen: Answer, value: Any, name: str) -> float:
    """Demand one real number."""
    told = f"It must return one number, {name}."
    seen.demand(is_real(value), f"returns {kind_of(value)}", told)
    return float(value)


# --- peakedness -------------------------------------------------------------------------------


@graded("peakedness", about="form", also=((SQUARE,),))
def peak_form(peakedness: Any) -> None:
    """Two numbers for a row."""
    for weights in (BY_HAND, _table("peak_form", (4,))):
        seen = ask_peak(peakedness, weights)
        for name, part in zip(("largest weight", "entropy"), _pair(seen), strict=True):
            told = f"For one row the {name} is one number."
            part.demand(is_real(part.value), f"the {name}: {kind_of(part.value)}", told)
    passed("peakedness returns two numbers for a row", seen)


@graded("peakedness", about="largest", also=(ROW,))
def peak_largest(peakedness: Any) -> None:
    """The first result, row by row."""

    def judge(parts: Array) -> None:
        for weights in _shares(parts):
            seen = ask_peak(peakedness, weights)
            largest = _pair(seen)[0]
            why = "The first result is the largest weight of the row."
            _must_be(largest, _number_in(largest), weights.max(), "wrong maximum", why)

    for length in (3, 5, 2, 1):
        on_smallest(judge, _parts("peak_largest", length))
    seen = ask_peak(peakedness, BY_HAND)
    passed("peakedness finds the largest weight of a row", seen)


@graded("peakedness", about="entropy", also=(ROW,))
def peak_entropy(peakedness: Any) -> None:
    """The second result: by hand, for equal weights, and for others."""
    seen = _must_have_entropy(
        peakedness, BY_HAND, "½ ln 2 + ¼ ln 4 + ¼ ln 4 is 3/2 of ln 2, or 1.0397."
    )
    for length in (4, 7):
        why = f"{length} equal weights have the entropy ln {length}, the most that there can be."
        _must_have_entropy(peakedness, np.full(length, 1 / length), why)

    def judge(parts: Array) -> None:
        for weights in _shares(parts):
            _must_have_entropy(peakedness, weights, ENTROPY)

    for length in (3, 5, 2):
        on_smallest(judge, _parts("peak_entropy", length))
    passed("peakedness finds the entropy of a row, in nats", seen)


@graded("peakedness", about="zeros", also=(ROW,))
def peak_zeros(peakedness: Any) -> None:
    """Weights of 0 beside others, hardly any weight, and no weight at all."""

    def judge(parts: Array) -> None:
        for weights in _shares(parts):
            _must_be_as_without(peakedness, weights)

    on_smallest(judge, _parts("peak_zeros", 3))
    halves = _must_be_as_without(peakedness, np.array([0.5, 0.5]))
    alone = _must_be_as_without(peakedness, np.array([1.0]))
    why = "Two equal weights and a single weight have different entropies."
    halves.demand(bool(_second(halves) != _second(alone)), "all rows alike", why)
    why = "A weight may be as small as 1e-300; its share of the entropy is as good as 0."
    seen = ask_peak(peakedness, np.array([1.0, 1e-300]))
    _must_be(seen, _second(seen), _second(alone), "wrong entropy", why)
    why = "A query that may attend to nothing has a row of zeros: largest weight 0, entropy 0."
    seen = ask_peak(peakedness, np.zeros(3))
    for part in _pair(seen):
        _must_be(part, _number_in(part), np.zeros(()), "wrong for a row of zeros", why)
    passed("peakedness lets weights of 0 add nothing, also in a row of zeros", seen)


def _must_be_as_without(peakedness: Any, weights: Array) -> Answer:
    """Weights of 0 put beside these change no entropy, whatever it is; that of these alone."""
    alone = ask_peak(peakedness, weights)
    seen = ask_peak(peakedness, np.insert(weights, [0, 1], 0.0))
    why = f"{NO_SHARE} Expected is what your function gives without them."
    _must_be(seen, _second(seen), _second(alone), "wrong beside 0", why)
    return alone


@graded("peakedness", about="leading", also=((SQUARE,),))
def peak_leading(peakedness: Any) -> None:
    """A row in a table or a stack gives what it gives alone."""
    for shape in ((2, 3), (3, 3), (1, 4), (2, 2, 3)):
        table = np.asfortranarray(_table("peak_leading", shape))
        seen = ask_peak(peakedness, table)
        for index in _corners(shape):
            alone = ask_peak(peakedness, table[index])
            pairs = zip(("largest weight", "entropy"), _pair(seen), _pair(alone), strict=True)
            for name, part, own in pairs:
                values = _numbers_in(part, math.prod(shape[:-1])).reshape(shape[:-1])
                expected = _number_in(own)
                title = f"other {name} in a stack"
                told = f"Row {index} of an array of shape {shape}. {ALONE}"
                _must_be(part, np.asarray(values[index]), expected, title, told)
    passed("peakedness treats each row by itself, in tables and in stacks", seen)


@graded("peakedness", about="kinds")
def peak_kinds(peakedness: Any) -> None:
    """float32 and arrays of any layout give what the same numbers give in float64."""
    row = _table("peak_kinds", (4,))
    for weights, tolerance, note in (
        (row.astype(np.float32), FLOAT32, ""),
        (np.repeat(row, 2)[::2], FLOAT64, "a strided view"),
    ):
        seen, plain = (
            ask_peak(peakedness, weights, note=note),
            ask_peak(peakedness, _plain(weights)),
        )
        kind = note or str(weights.dtype)
        for name, part, own in zip(("maximum", "entropy"), _pair(seen), _pair(plain), strict=True):
            expected = _numbers_in(own, np.size(own.value))
            values = _numbers_in(part, expected.size)
            part.must_equal(values, expected, f"other {name} for {kind}", PLAIN, tolerance)
    passed("peakedness takes float32 and arrays of any layout", seen)


@graded("peakedness", about="changes")
def peak_unchanged(peakedness: Any) -> None:
    """The caller's weights are the same after the call, writeable or not."""
    row = _table("peak_unchanged", (3,))
    row[:2] = [0.0, row[:2].sum()]
    seen = ask_peak(peakedness, row)
    largest = _pair(seen)[0]
    largest.demand(np.size(largest.value) > 0, "nothing returned", PAIR)
    seen.must_not_change()
    ask_peak(peakedness, _locked(row), note="an array that cannot be written to")
    passed("peakedness leaves the caller's weights alone", seen)


def _must_have_entropy(peakedness: Any, weights: Array, why: str) -> Answer:
    seen = ask_peak(peakedness, weights)
    entropy = _pair(seen)[1]
    expected = oracle.peakedness(weights)[1]
    _must_be(entropy, _number_in(entropy), expected, "wrong entropy", why)
    return seen


def _pair(seen: Answer) -> tuple[Answer, Answer]:
    """The two parts of what was returned, each as an Answer of its own."""
    pair = isinstance(seen.value, tuple | list) and len(seen.value) == 2
    seen.demand(pair, f"returns {kind_of(seen.value)}", PAIR)
    largest, entropy = (replace(seen, seen=replace(seen.seen, value=part)) for part in seen.value)
    return largest, entropy


def _second(seen: Answer) -> Array:
    """The entropy that was returned for one row."""
    return _number_in(_pair(seen)[1])


def _number_in(part: Answer) -> Array:
    """The one number of a result for one row, without axes."""
    return _numbers_in(part, 1).reshape(())


def _numbers_in(part: Answer, count: int) -> Array:
    """The numbers of a result, whatever its shape: only `form` asks about that."""
    value = part.value
    told = f"It must hold {count} number{'s' if count > 1 else ''}, one for each row."
    real = is_real(value) or (isinstance(value, np.ndarray) and value.dtype.kind in "fiu")
    part.demand(real and np.size(value) == count, f"returns {kind_of(value)}", told)
    return np.ravel(np.asarray(value, dtype=np.float64)) + 0.0  # no −0.0


# --- softmax_backward -------------------------------------------------------------------------


@graded("softmax_backward", about="formula", also=(ROW_GRAD,))
def back_by_hand(softmax_backward: Any) -> None:
    """The case worked by hand, and the same with another gradient."""
    factor = float(generator("back_by_hand").integers(2, 9))
    for grad in (BY_HAND_GRAD, BY_HAND_GRAD * factor):
        seen = ask_back(softmax_backward, BY_HAND, grad)
        value = seen.must_be_array((3,))
        expected = np.array([1.0, -0.5, -0.5]) * grad[0] / 4
        why = (
            f"Only the first weight counts here, {grad[0]:g} times. It moves with its own score by "
            "½ · ½, and with each of the others by −½ · ¼."
        )
        _must_be(seen, value, expected, "wrong gradient", why)
    passed("softmax_backward gives the gradient of the case by hand", seen)


@graded("softmax_backward", about="formula", also=(ROW_GRAD,))
def back_row(softmax_backward: Any) -> None:
    """One row with any gradient: sums to 0, equals the Jacobian written out, 0 without weights."""

    def judge(table: Array) -> None:
        for weights, grad in _with_grad(table):
            seen = ask_back(softmax_backward, weights, grad)
            value = seen.must_be_array(weights.shape)
            expected = oracle.softmax_backward(weights, grad)
            seen.must_be_finite(value, SLOPES, expected)
            total = value.sum()
            fine = bool(FLOAT64.allows(total, np.zeros(())))
            seen.demand(fine, "sum is not 0", f"{SUM_0}; yours sums to {total:.4g}.", expected)
            seen.must_equal(value, expected, "wrong gradient", SLOPES)

    for length in (3, 5, 2, 1):
        grad = _grads("back_row", (length,))
        on_smallest(judge, np.vstack([_parts("back_row", length), grad]))
    for weights in ([0.5, 0.0, 0.5], [0.0, 0.0, 0.0]):
        seen = ask_back(softmax_backward, np.array(weights), BY_HAND_GRAD)
        expected = oracle.softmax_backward(np.array(weights), BY_HAND_GRAD)
        value = seen.must_be_array((3,))
        _must_be(seen, value, expected, "wrong without weight", NO_WEIGHT)
    passed("softmax_backward is right for a row with any gradient", seen)


@graded("softmax_backward", about="leading", also=((SQUARE, SQUARE_GRAD),))
def back_leading(softmax_backward: Any) -> None:
    """A row in a table or a stack gives what it gives alone."""
    for shape in ((2, 3), (3, 3), (1, 4), (2, 2, 3), (2, 3, 1, 2)):
        table, grads = _table("back_leading", shape), _grads("back_leading", shape)
        seen = ask_back(softmax_backward, table, grads)
        for index in _corners(shape):
            expected = _varied(ask_back(softmax_backward, table[index], grads[index]))
            value = seen.must_be_array((*shape[:-1], *expected.shape))
            told = f"Row {index} of an array of shape {shape}. {ALONE}"
            _must_be(seen, value[index], expected, "other gradient in a stack", told)
    passed("softmax_backward treats each row by itself, in tables and in stacks", seen)


@graded("softmax_backward", about="kinds")
def back_kinds(softmax_backward: Any) -> None:
    """float32, integer gradients and arrays of any layout."""
    row, grad = _table("back_kinds", (4,)), _grads("back_kinds", (4,))
    views = [np.repeat(each, 2)[::2] for each in (row, grad)]
    calls: tuple[tuple[Array, Array, Tolerance, str], ...] = (
        (row, np.array([5, -1, 2, 9]), FLOAT64, "an integer gradient"),
        (row.astype(np.float32), grad.astype(np.float32), FLOAT32, ""),
        (views[0], views[1], FLOAT64, "strided views"),
    )
    for weights, given, tolerance, note in calls:
        seen = ask_back(softmax_backward, weights, given, note=note)
        expected = _varied(ask_back(softmax_backward, *map(_plain, (weights, given))))
        title = f"another gradient for {note or weights.dtype}"
        seen.must_equal(seen.must_be_array(expected.shape), expected, title, PLAIN, tolerance)
    passed("softmax_backward takes float32, integers and arrays of any layout", seen)


@graded("softmax_backward", about="changes")
def back_unchanged(softmax_backward: Any) -> None:
    """The caller's arrays are the same after the call, writeable or not."""
    row, grad = _table("back_unchanged", (4,)), _grads("back_unchanged", (4,))
    seen = ask_back(softmax_backward, row, grad)
    _varied(seen)
    seen.must_not_change()
    note = "arrays that cannot be written to"
    ask_back(softmax_backward, _locked(row), _locked(grad), note=note)
    passed("softmax_backward leaves the caller's arrays alone", seen)


def _varied(seen: Answer) -> Array:
    """Demand an array of numbers that differ, of any shape: only `formula` asks which."""
    value = seen.must_be_array(getattr(seen.value, "shape", ()))
    seen.demand(bool(np.ptp(value) > 0), "all numbers alike", "The gradients of this row differ.")
    return value


# --- shared -----------------------------------------------------------------------------------


def _must_be(part: Answer, value: Array, expected: Array, title: str, why: str) -> None:
    part.must_be_finite(value, why, expected)
    part.must_equal(value, expected, title, why)


def _parts(name: str, length: int) -> Array:
    """Twentieths in a row, each at least one, that sum to 20: weights of two decimals."""
    rng = generator(f"{name}{length}")
    return 1.0 + rng.multinomial(20 - length, np.full(length, 1 / length))


def _shares(parts: Array) -> Iterator[Array]:
    """The row of weights that these parts stand for, if they are parts of anything."""
    if parts.ndim == 1 and parts.size and (parts > 0).all():
        yield parts / parts.sum()


def _with_grad(table: Array) -> Iterator[tuple[Array, Array]]:
    """Weights and gradient of a table whose rows are parts and gradient, if it is still one."""
    if len(table) == 2:
        for weights in _shares(table[0]):
            yield weights, table[1]


def _table(name: str, shape: tuple[int, ...]) -> Array:
    """Rows of weights that differ from each other."""
    rows = [_parts(f"{name}{index}", shape[-1]) / 20 for index in np.ndindex(*shape[:-1])]
    return np.array(rows).reshape(shape)


def _grads(name: str, shape: tuple[int, ...]) -> Array:
    """Moderate random numbers with two decimals, no two alike in a row."""
    rng = generator(f"{name}{shape}")
    apart = rng.permuted(np.broadcast_to(np.arange(shape[-1]) * 1.5 - 1.0, shape), axis=-1)
    return (apart + rng.uniform(-0.7, 0.7, shape)).round(2) + 0.0  # no −0.0


def _plain(array: Array) -> Array:
    """The same numbers as an ordinary array."""
    return np.array(array, dtype=np.float64, order="C")


def _locked(array: Array) -> Array:
    """A copy that cannot be written to."""
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def _corners(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The first and the last row of an array of this shape."""
    lead = shape[:-1]
    yield from dict.fromkeys((tuple(0 for _ in lead), tuple(n - 1 for n in lead)))
