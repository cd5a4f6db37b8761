"""Lesson 01: how people get `softmax_list` and `softmax` wrong, and what they are told.

Forms are whole implementations, right but for their one mistake; sources are public issues."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from grader import oracle
from grader.misconceptions.family import Form, misconception, right

Array = np.ndarray


# --- pieces of softmax that the forms vary ----------------------------------------------------


def wide(scores: Any) -> Array:
    """The scores in at least float32, integers in float64."""
    return np.asarray(scores).astype(np.promote_types(float_type(scores), np.float32))


def float_type(scores: Any) -> np.dtype:
    """The dtype that the weights of these scores must have."""
    dtype = np.asarray(scores).dtype
    return dtype if dtype.kind == "f" else np.dtype(np.float64)


def row_maximum(x: Array, axis: int) -> Array:
    """The maximum along `axis`, 0 where there is none."""
    highest = x.max(axis=axis, keepdims=True)
    return np.where(np.isneginf(highest), 0.0, highest).astype(x.dtype)


def over_sum(exponentials: Array, axis: int) -> Array:
    """Divide by the sum along `axis`; 0 where that is 0."""
    total = exponentials.sum(axis=axis, keepdims=True)
    return exponentials / np.where(total == 0, 1, total)


def plainly_over_sum(exponentials: Array, axis: int) -> Array:
    """Divide by the sum along `axis`, whatever it is."""
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


DIVISIONS = (over_sum, plainly_over_sum)


def shifted_by(
    shift: Callable[[Array, int], Any], divide: Callable[[Array, int], Array] = over_sum
) -> Form:
    """A softmax that subtracts `shift(scores, axis)` instead of the row's maximum."""

    def softmax(scores: Any, axis: int = -1) -> Array:
        x = wide(scores)
        return divide(np.exp(x - shift(x, axis)), axis).astype(float_type(scores))

    return softmax


def along(
    axis_used: Callable[[int], Any], divide: Callable[[Array, int], Array] = over_sum
) -> Form:
    """A right softmax, but along another axis than the one that was asked for."""

    def softmax(scores: Any, axis: int = -1) -> Array:
        x, used = wide(scores), axis_used(axis)
        return divide(np.exp(x - row_maximum(x, used)), used).astype(float_type(scores))

    return softmax


def never_below(least: float) -> Form:
    """A right softmax whose weights are then bounded from below."""
    return of_scores(lambda x, axis: np.maximum(right_softmax(x, axis), least))


def of_scores(compute: Callable[[Array, int], Any]) -> Form:
    """Weights that `compute(scores, axis)` makes of the scores in a wide type."""

    def softmax(scores: Any, axis: int = -1) -> Array:
        return np.asarray(compute(wide(scores), axis)).astype(float_type(scores))

    return softmax


def then_zero(form: Form) -> Form:
    """The same with NaN turned to 0 at the end, as people cure it."""

    def softmax(scores: Any, axis: int = -1) -> Array:
        with np.errstate(all="ignore"):
            return np.nan_to_num(form(scores, axis))

    return softmax


@right("softmax")
def right_softmax(scores: Any, axis: int = -1) -> Array:
    """The oracle in the dtype that the contract promises."""
    return oracle.softmax(np.asarray(scores), axis).astype(float_type(scores))


def exponents_bounded(least: float) -> Form:
    """A right softmax whose exponents are bounded from below."""

    def compute(x: Array, axis: int) -> Array:
        return right_softmax(np.maximum(x - row_maximum(x, axis), least), axis)

    def but_for_empty(x: Array, axis: int) -> Array:
        return compute(x, axis) * ~np.isneginf(x).all(axis=axis, keepdims=True)

    return of_scores(but_for_empty)


# --- softmax: the shift -----------------------------------------------------------------------


@misconception(
    "softmax",
    "no maximum subtracted",
    about="range",
    told=(
        "Your code takes the exponential of the scores as they are. exp(710) is already larger "
        "than any float64 and exp(−800) is 0, so large scores give inf / inf and low ones 0 / 0."
    ),
    question="Which number could be taken from every score of a row without changing a weight?",
    source="pytorch/executorch#18407; tenstorrent/tt-metal#12661; mila-iqia/blocks#727",
)
def no_maximum() -> Iterator[Form]:
    for divide in DIVISIONS:
        yield shifted_by(lambda x, axis: 0.0, divide)
    yield then_zero(shifted_by(lambda x, axis: 0.0, plainly_over_sum))


@misconception(
    "softmax",
    "maximum of the whole array",
    about="rows",
    told=(
        "Your code subtracts one maximum, that of the whole array, from every row. A row that lies"
        " far below it has only exponentials that underflow to 0."
    ),
    question="What would the maximum's shape have to be for each row to be shifted by its own?",
    source="numpy-ml and several course forums: np.max(x) without an axis",
)
def maximum_of_all() -> Iterator[Form]:
    for divide in DIVISIONS:
        yield shifted_by(lambda x, axis: x.max(), divide)
        yield shifted_by(lambda x, axis: row_maximum(x.ravel(), 0), divide)
    yield then_zero(shifted_by(lambda x, axis: x.max(), plainly_over_sum))


@misconception(
    "softmax",
    "shift in the numerator only",
    about="formula",
    told=(
        "Your code subtracts the maximum in the numerator, but sums exponentials of the scores as "
        "they were. The two no longer belong together, so the weights do not sum to 1."
    ),
    question="Of which numbers is the sum that the numerators are divided by?",
    source="https://www.delftstack.com/howto/numpy/numpy-softmax/",
)
def shift_in_numerator() -> Iterator[Form]:
    def compute(x: Array, axis: int) -> Array:
        total = np.exp(x).sum(axis=axis, keepdims=True)
        return np.exp(x - row_maximum(x, axis)) / total

    def guarded(x: Array, axis: int) -> Array:
        total = np.exp(x).sum(axis=axis, keepdims=True)
        e = np.exp(x - row_maximum(x, axis))
        return np.divide(e, total, out=np.zeros_like(e), where=total > 0)

    yield of_scores(compute)
    yield of_scores(guarded)


@misconception(
    "softmax",
    "shift in the sum only",
    about="formula",
    told=(
        "Your code subtracts the maximum in the sum, but not in the numerator. The two no longer "
        "belong together, so the weights do not sum to 1."
    ),
    question="Of which numbers are the exponentials that you divide?",
)
def shift_in_sum() -> Iterator[Form]:
    def compute(x: Array, axis: int) -> Array:
        return np.exp(x) / np.exp(x - row_maximum(x, axis)).sum(axis=axis, keepdims=True)

    yield of_scores(compute)


@misconception(
    "softmax",
    "maximum starts at zero",
    about="range",
    told=(
        "Your maximum is never below 0, because it starts there. When a whole row lies far below "
        "zero, every exponential underflows to 0 and nothing is left to divide by."
    ),
    question="Where must a search for a maximum start, so that any score can replace it?",
    source="FluxML/NNlib.jl#43; uTensor/uTensor#176",
)
def maximum_starts_at_zero() -> Iterator[Form]:
    for divide in DIVISIONS:
        yield shifted_by(lambda x, axis: x.max(axis=axis, keepdims=True, initial=0.0), divide)
    yield then_zero(
        shifted_by(lambda x, axis: x.max(axis=axis, keepdims=True, initial=0.0), plainly_over_sum)
    )


@misconception(
    "softmax",
    "maximum of absolute values",
    about="range",
    told=(
        "Your code subtracts the largest absolute value. In a row far below zero that is a large "
        "positive number, so the scores are pushed down further and every exponential becomes 0."
    ),
    question="For the row −1000, −1001: what do you subtract, and what is left in the exponent?",
)
def maximum_of_absolutes() -> Iterator[Form]:
    def shift(x: Array, axis: int) -> Array:
        finite = np.where(np.isfinite(x), np.abs(x), 0.0)
        return finite.max(axis=axis, keepdims=True)

    for divide in DIVISIONS:
        yield shifted_by(shift, divide)
        yield shifted_by(lambda x, axis: np.abs(x).max(axis=axis, keepdims=True), divide)


@misconception(
    "softmax",
    "maximum with a floor",
    about="range",
    told=(
        "Your code keeps the maximum from falling below a fixed number. That cures the row of −∞, "
        "but ordinary scores below that number are lost: all their exponentials become 0."
    ),
    question="How can a row without any score be told from one whose scores are merely low?",
    source="tracel-ai/burn#4697",
)
def maximum_with_floor() -> Iterator[Form]:
    def floored(floor: float) -> Callable[[Array, int], Array]:
        return lambda x, axis: np.maximum(x.max(axis=axis, keepdims=True), floor)

    for floor in (-1e3, -1e4, -5e4, -65504.0, -1e5):
        for divide in DIVISIONS:
            yield shifted_by(floored(floor), divide)


@misconception(
    "softmax",
    "mean instead of maximum",
    about="range",
    told=(
        "Your code subtracts the mean of the row. That changes no weight on paper, but a score far"
        " above the mean still overflows in the exponential."
    ),
    question="Which choice makes sure that no exponent is above 0?",
)
def mean_subtracted() -> Iterator[Form]:
    for divide in DIVISIONS:
        yield shifted_by(lambda x, axis: x.mean(axis=axis, keepdims=True), divide)
        yield shifted_by(lambda x, axis: np.median(x, axis=axis, keepdims=True), divide)


@misconception(
    "softmax",
    "minimum instead of maximum",
    about="range",
    told=(
        "Your code subtracts the smallest score. Then every exponent is 0 or above, and a wide row"
        " overflows."
    ),
    question="Which choice makes sure that no exponent is above 0?",
)
def minimum_subtracted() -> Iterator[Form]:
    for divide in DIVISIONS:
        yield shifted_by(lambda x, axis: x.min(axis=axis, keepdims=True), divide)


@misconception(
    "softmax",
    "scores clipped",
    about="range",
    told=(
        "Your code clips the scores so that exp cannot overflow. Scores beyond the limit become "
        "equal, and the difference between them is lost."
    ),
    question="Could you shift the whole row instead, so that its differences stay as they are?",
)
def scores_clipped() -> Iterator[Form]:
    def clipped(least: float, most: float, divide: Callable[[Array, int], Array]) -> Form:
        return of_scores(lambda x, axis: divide(np.exp(np.clip(x, least, most)), axis))

    for bound in (20.0, 30.0, 50.0, 80.0, 88.0, 100.0, 500.0, 700.0, 709.0):
        for divide in DIVISIONS:
            yield clipped(-bound, bound, divide)
            yield clipped(-np.inf, bound, divide)


@misconception(
    "softmax",
    "one fixed score subtracted",
    about="range",
    told=(
        "Your code subtracts the first or the last score of the row. That changes no weight on "
        "paper, but a score far above it still overflows."
    ),
    question="Which choice makes sure that no exponent is above 0?",
)
def fixed_score_subtracted() -> Iterator[Form]:
    def at(index: int, guarded: bool) -> Form:
        def shift(x: Array, axis: int) -> Array:
            chosen = np.take(x, [index], axis=axis)
            return np.where(np.isneginf(chosen) & guarded, 0.0, chosen)

        return shifted_by(shift)

    for index in (0, -1):
        yield at(index, guarded=True)
        yield at(index, guarded=False)


@misconception(
    "softmax",
    "32 bits inside",
    about="range",
    told=(
        "Your code computes float64 scores in 32 bits. That keeps seven digits: of a large score "
        "the decimals are lost, and with them the differences that the weights are made of."
    ),
    question="In which type do the scores come, and in which do you subtract?",
)
def single_inside() -> Iterator[Form]:
    def softmax(scores: Any, axis: int = -1) -> Array:
        x = np.asarray(scores).astype(np.float32)
        return over_sum(np.exp(x - row_maximum(x, axis)), axis).astype(float_type(scores))

    yield softmax


# --- softmax: the axis ------------------------------------------------------------------------


@misconception(
    "softmax",
    "first axis",
    about="axis formula rows",
    told=(
        "Your code normalises along the first axis. In a table of scores that is down the columns:"
        " the weights of one query no longer sum to 1, and other queries decide what it gets."
    ),
    question="Along which axis do the candidates of one query lie?",
    source="PetrochukM/PyTorch-NLP#2; jadore801120/attention-is-all-you-need-pytorch#52",
)
def first_axis() -> Iterator[Form]:
    for divide in DIVISIONS:
        yield along(lambda axis: 0, divide)
        yield along(lambda axis: 0 if axis == -1 else axis, divide)


@misconception(
    "softmax",
    "axis ignored",
    about="axis",
    told="Your code takes an axis, but always works along the last one.",
    question="Where in your code does `axis` have an effect?",
    source="catalyst-team/catalyst#285; phanideepgampa/stacked-capsule-networks#5",
)
def axis_ignored() -> Iterator[Form]:
    for divide in DIVISIONS:
        yield along(lambda axis: -1, divide)


@misconception(
    "softmax",
    "some axes ignored",
    about="axis",
    told=(
        "Your code works along some of the axes it is given, and along the last one for all others."
    ),
    question="What does your code do for axis=1 of three, and for axis=-2?",
)
def some_axes_ignored() -> Iterator[Form]:
    yield along(lambda axis: 0 if axis == 0 else -1)
    yield along(lambda axis: axis if axis >= 0 else -1)
    yield along(lambda axis: axis if axis < 0 else -1)
    yield along(lambda axis: 1 if axis == 1 else -1)


@misconception(
    "softmax",
    "sum along another axis than the maximum",
    about="formula axis rows",
    told=(
        "Your maximum and your sum run along two different axes, so what is divided and what it is"
        " divided by do not belong together."
    ),
    question="Along which axis does each of the two run, and along which should both?",
)
def two_axes() -> Iterator[Form]:
    def compute(x: Array, axis: int) -> Array:
        return over_sum(np.exp(x - row_maximum(x, axis)), 0)

    yield of_scores(compute)
    yield of_scores(lambda x, axis: over_sum(np.exp(x - row_maximum(x, 0)), axis))


@misconception(
    "softmax",
    "tables of a stack treated as one",
    about="formula axis",
    told=(
        "Your code is right for one row and for one table. Of a stack of tables it makes one "
        "table, or lets whole tables share the 1 that belongs to each row."
    ),
    question="What shape does your result have for scores of shape (2, 1, 4), and what sums to 1?",
)
def one_table() -> Iterator[Form]:
    def flattened(scores: Any, axis: int = -1) -> Array:
        x = np.moveaxis(np.asarray(scores), axis, -1)
        weights = right_softmax(x.reshape(-1, x.shape[-1]) if x.ndim > 2 else x)
        return np.moveaxis(weights, -1, axis) if x.ndim <= 2 else weights

    def both_last(x: Array, axis: int) -> Array:
        around: Any = (-2, -1) if x.ndim > 2 else axis
        return over_sum(np.exp(x - row_maximum(x, around)), around)

    yield flattened
    yield of_scores(both_last)


@misconception(
    "softmax",
    "axes of length 1 lost",
    about="formula axis",
    told=(
        "Your result has lost its axes of length 1, so it does not line up with the scores any "
        "more."
    ),
    question="Which shape must the weights of scores of shape (2, 1, 4) have?",
)
def squeezed() -> Iterator[Form]:
    yield lambda scores, axis=-1: right_softmax(scores, axis).squeeze()


@misconception(
    "softmax",
    "order of memory",
    about="formula",
    told=(
        "Your code takes the numbers in the order in which they lie in memory. For a transposed "
        "array that is not the order of its rows."
    ),
    question="What do ravel, reshape and a loop over .flat give for the transpose of a table?",
)
def memory_order() -> Iterator[Form]:
    def softmax(scores: Any, axis: int = -1) -> Array:
        x = np.asarray(scores)
        return right_softmax(x.ravel(order="K").reshape(x.shape), axis)

    yield softmax


@misconception(
    "softmax",
    "whole array at once",
    about="axis formula rows",
    told=(
        "Your code divides by the sum over the whole array, so all the numbers together sum to 1 "
        "and the single rows do not."
    ),
    question="Over which axis must the sum go, and what shape must it keep?",
)
def whole_array() -> Iterator[Form]:
    yield of_scores(lambda x, axis: np.exp(x - x.max()) / np.exp(x - x.max()).sum())

    def own_maximum(x: Array, axis: int) -> Array:
        e = np.exp(x - row_maximum(x, axis))
        return e / e.sum()

    yield of_scores(own_maximum)


@misconception(
    "softmax",
    "keepdims missing",
    about="axis formula rows",
    told=(
        "Your maximum or your sum loses the axis it was taken along, and then lines up with "
        "another axis of the scores. For most shapes that raises an error; for square ones it is "
        "silently wrong."
    ),
    question=(
        "What is the shape of the sum, and what does it have to be to divide each row by its own?"
    ),
)
def keepdims_missing() -> Iterator[Form]:
    def in_sum(x: Array, axis: int) -> Array:
        e = np.exp(x - row_maximum(x, axis))
        return e / e.sum(axis=axis)

    def in_both(x: Array, axis: int) -> Array:
        e = np.exp(x - x.max(axis=axis))
        return e / e.sum(axis=axis)

    def in_maximum(x: Array, axis: int) -> Array:
        e = np.exp(x - x.max(axis=axis))
        return e / e.sum(axis=axis, keepdims=True)

    yield from map(of_scores, (in_sum, in_both, in_maximum))


@misconception(
    "softmax",
    "axis not moved back",
    about="axis",
    told=(
        "Your code moves the axis to the end, computes there, and returns the result with its axes"
        " still in that order."
    ),
    question="Which axes does your result have at the end, and in which order did they come?",
)
def axis_not_moved_back() -> Iterator[Form]:
    def compute(x: Array, axis: int) -> Array:
        moved = np.moveaxis(x, axis, -1)
        return over_sum(np.exp(moved - row_maximum(moved, -1)), -1)

    def transposed(x: Array, axis: int) -> Array:
        weights = compute(x, axis)
        return weights if axis % x.ndim == x.ndim - 1 else weights.T

    yield of_scores(compute)
    yield of_scores(lambda x, axis: compute(x.swapaxes(axis, -1), -1))
    yield of_scores(transposed)


# --- softmax: another function ----------------------------------------------------------------


@misconception(
    "softmax",
    "exponentials not divided by their sum",
    about="formula",
    told=(
        "Your numbers are exponentials that were never divided by their sum. They are positive, "
        "but nothing makes them sum to 1."
    ),
    question="What turns positive numbers into shares of a whole?",
)
def not_divided() -> Iterator[Form]:
    yield of_scores(lambda x, axis: np.exp(x - row_maximum(x, axis)))
    yield of_scores(lambda x, axis: np.exp(x))


@misconception(
    "softmax",
    "scores divided without exp",
    about="formula",
    told=(
        "Your code divides the scores by their sum, without the exponential. Scores below zero "
        "then give negative weights, and the sum can be 0."
    ),
    question="Which step makes every score positive before you divide?",
)
def without_exp() -> Iterator[Form]:
    yield of_scores(lambda x, axis: x / x.sum(axis=axis, keepdims=True))
    yield of_scores(lambda x, axis: plainly_over_sum(np.abs(x), axis))

    def above_minimum(x: Array, axis: int) -> Array:
        return plainly_over_sum(x - x.min(axis=axis, keepdims=True), axis)

    yield of_scores(above_minimum)


@misconception(
    "softmax",
    "logarithm of the weights",
    about="formula",
    told=(
        "Your code returns the logarithms of the weights (a log-softmax). They are 0 or below, and"
        " do not sum to 1."
    ),
    question="What is still to be done to a logarithm to get the weight itself?",
)
def log_softmax() -> Iterator[Form]:
    def compute(x: Array, axis: int) -> Array:
        shifted = x - row_maximum(x, axis)
        return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))

    yield of_scores(compute)


@misconception(
    "softmax",
    "sign turned round",
    about="formula",
    told=(
        "Your code gives the smallest score the largest weight: the sign of the exponent is turned"
        " round."
    ),
    question="For the scores 0 and 1: which weight should be larger, and which exponent is?",
)
def sign_turned() -> Iterator[Form]:
    def turned(shift: Callable[[Array, int], Any], divide: Callable[[Array, int], Array]) -> Form:
        return of_scores(lambda x, axis: divide(np.exp(shift(x, axis) - x), axis))

    for divide in DIVISIONS:
        yield turned(lambda x, axis: x.min(axis=axis, keepdims=True), divide)
        yield turned(lambda x, axis: 0.0, divide)
        yield turned(row_maximum, divide)


@misconception(
    "softmax",
    "another base than e",
    about="formula",
    told=(
        "Your code raises 2 (or 10) to the scores instead of e. The weights sum to 1, but they are"
        " flatter or sharper than they should be."
    ),
    question="By what factor do the weights of the scores 0 and 1 differ?",
)
def other_base() -> Iterator[Form]:
    def to_the_power(base: float) -> Form:
        return of_scores(lambda x, axis: over_sum(base ** (x - row_maximum(x, axis)), axis))

    yield from map(to_the_power, (2.0, 10.0))


@misconception(
    "softmax",
    "only the largest counts",
    about="formula",
    told=(
        "Your code gives all the weight to the largest score. That is an argmax; a softmax gives "
        "every score a little."
    ),
    question="For the scores 0 and ln 3: what shares should they get?",
)
def one_hot() -> Iterator[Form]:
    def compute(x: Array, axis: int) -> Array:
        return (x == x.max(axis=axis, keepdims=True)).astype(float)

    yield of_scores(compute)


@misconception(
    "softmax",
    "sigmoid of each score",
    about="formula",
    told=(
        "Your code treats each score by itself (a sigmoid). The numbers lie between 0 and 1, but "
        "nothing makes those of a row sum to 1."
    ),
    question="Where do the other scores of the row come into one weight?",
)
def sigmoid() -> Iterator[Form]:
    yield of_scores(lambda x, axis: 1.0 / (1.0 + np.exp(-x)))


@misconception(
    "softmax",
    "scores scaled",
    about="formula",
    told=(
        "Your code divides the scores by a number before the exponential. In attention that is "
        "done once, outside the softmax; here it makes the weights flatter than they should be."
    ),
    question="By what factor do the weights of the scores 0 and ln 3 differ in your result?",
)
def scaled() -> Iterator[Form]:
    def by(factor: Callable[[Array, int], Any]) -> Form:
        return of_scores(lambda x, axis: right_softmax(x / factor(x, axis), axis))

    yield by(lambda x, axis: math.sqrt(x.shape[axis]))
    yield by(lambda x, axis: x.shape[axis])
    yield by(lambda x, axis: np.abs(x).max(axis=axis, keepdims=True))
    yield by(lambda x, axis: x.std(axis=axis, keepdims=True))


@misconception(
    "softmax",
    "weights in another order",
    about="formula",
    told="Your weights are right, but not at their places: the scores were sorted on the way.",
    question="Which weight belongs to the first score, and where does it stand in your result?",
)
def sorted_scores() -> Iterator[Form]:
    yield of_scores(lambda x, axis: right_softmax(np.sort(x, axis=axis), axis))
    yield of_scores(lambda x, axis: np.flip(np.sort(right_softmax(x, axis), axis=axis), axis))


@misconception(
    "softmax",
    "weights rounded",
    about="formula",
    told="Your code rounds the weights. Rounded shares need not sum to 1, and small ones are lost.",
    question="Who needs the rounding, the computation or the reader?",
)
def rounded_weights() -> Iterator[Form]:
    def rounded(digits: int) -> Form:
        return of_scores(lambda x, axis: np.round(right_softmax(x, axis), digits))

    yield from map(rounded, range(7))


@misconception(
    "softmax",
    "maximum divided, not subtracted",
    about="formula",
    told=(
        "Your code divides the scores by the maximum. That changes their differences, and with "
        "them the weights; a maximum below 0 even turns the order round."
    ),
    question="Which operation with the maximum leaves all differences between scores as they are?",
)
def maximum_divided() -> Iterator[Form]:
    def compute(x: Array, axis: int) -> Array:
        highest = row_maximum(x, axis)
        return over_sum(np.exp(x / np.where(highest == 0, 1, highest)), axis)

    yield of_scores(compute)
    yield of_scores(lambda x, axis: over_sum(np.exp(x / x.max(axis=axis, keepdims=True)), axis))


@misconception(
    "softmax",
    "large epsilon",
    about="formula",
    told=(
        "Your code adds a small number to the sum before it divides. One that is too large takes a"
        " visible share of the weights, so they sum to less than 1."
    ),
    question="What is the sum at least, once the maximum has been subtracted: can it be 0 at all?",
)
def large_epsilon() -> Iterator[Form]:
    def added_to_sum(epsilon: float) -> Form:
        def compute(x: Array, axis: int) -> Array:
            e = np.exp(x - row_maximum(x, axis))
            return e / (e.sum(axis=axis, keepdims=True) + epsilon)

        return of_scores(compute)

    def added_to_weights(epsilon: float) -> Form:
        def compute(x: Array, axis: int) -> Array:
            weights = right_softmax(x, axis)
            return over_sum(weights + epsilon * (weights.sum(axis=axis, keepdims=True) > 0), axis)

        return of_scores(compute)

    for epsilon in (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0):
        yield added_to_sum(epsilon)
        yield added_to_weights(epsilon)
    yield from map(never_below, (1e-3, 1e-2, 1e-1))


# --- softmax: rows with nothing to choose -----------------------------------------------------


@misconception(
    "softmax",
    "NaN for a row of −∞",
    about="empty",
    told=(
        "In a row of −∞ throughout, your maximum is −∞ as well: −∞ minus −∞ is NaN, and so is 0 / "
        "0. One NaN in a batch spreads to everything that is computed from it."
    ),
    question="Which step gives the first NaN, and what could stand in for the maximum there?",
)
def nan_for_empty_row() -> Iterator[Form]:
    yield shifted_by(lambda x, axis: x.max(axis=axis, keepdims=True), plainly_over_sum)
    yield shifted_by(lambda x, axis: x.max(axis=axis, keepdims=True), over_sum)
    yield shifted_by(row_maximum, plainly_over_sum)


@misconception(
    "softmax",
    "equal weights for a row of −∞",
    about="empty",
    told=(
        "In a row of −∞ throughout, your code gives every position the same weight: the −∞ was "
        "replaced by a large finite number, and the differences between equal numbers are 0."
    ),
    question="What should a query get that may look at nothing, and how can you tell its row?",
    source="huggingface/transformers and others: masked rows filled with finfo.min",
)
def equal_for_empty_row() -> Iterator[Form]:
    def filled(fill: float) -> Form:
        def compute(x: Array, axis: int) -> Array:
            y = np.where(np.isneginf(x), fill, x)
            return plainly_over_sum(np.exp(y - y.max(axis=axis, keepdims=True)), axis)

        return of_scores(compute)

    yield filled(-1e9)
    yield filled(-1e30)

    def where_nan(x: Array, axis: int) -> Array:
        weights = right_softmax(x, axis)
        empty = np.isneginf(x).all(axis=axis, keepdims=True)
        return np.where(empty, 1.0 / x.shape[axis], weights)

    yield of_scores(where_nan)


@misconception(
    "softmax",
    "hidden positions keep a little",
    about="empty",
    told=(
        "Your code replaces −∞ by a number that is not low enough, or bounds the weights from "
        "below. A position that must not be seen then still gets some weight."
    ),
    question="What is exp(−∞), and would it need any help?",
)
def hidden_keeps_a_little() -> Iterator[Form]:
    def filled(fill: float) -> Form:
        return of_scores(lambda x, axis: right_softmax(np.where(np.isneginf(x), fill, x), axis))

    yield from map(filled, (-5.0, -10.0, -20.0, -30.0, -50.0, -100.0))

    yield from map(
        exponents_bounded, (-20.0, -30.0, -50.0, -64.0, -80.0, -87.0, -88.0, -100.0, -700.0)
    )
    yield from map(never_below, (1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-5, 1e-4))


@misconception(
    "softmax",
    "only a whole array of −∞ is noticed",
    about="empty",
    told=(
        "Your code looks whether the whole array is −∞. One row of −∞ among ordinary ones is not "
        "noticed, and becomes NaN."
    ),
    question="How do you ask each row by itself whether it has any score?",
)
def noticed_only_for_all() -> Iterator[Form]:
    def compute(x: Array, axis: int) -> Array:
        if np.isneginf(x).all():
            return np.zeros_like(x)
        return plainly_over_sum(np.exp(x - x.max(axis=axis, keepdims=True)), axis)

    yield of_scores(compute)


@misconception(
    "softmax",
    "one row of −∞ empties the others",
    about="empty",
    told=(
        "As soon as one row is −∞ throughout, your code returns zeros for every row. The rows "
        "beside it have scores, and are ordinary rows."
    ),
    question="Which rows of the result should be zeros, and which should not?",
)
def one_empties_all() -> Iterator[Form]:
    def compute(x: Array, axis: int) -> Array:
        empty = np.isneginf(x).all(axis=axis).any()
        return np.zeros_like(x) if empty else right_softmax(x, axis)

    yield of_scores(compute)


@misconception(
    "softmax",
    "rows of −∞ left out",
    about="empty",
    told="Your result has no rows where all scores are −∞, so its shape is not that of the scores.",
    question="What should stand in the result where a query may look at nothing?",
)
def rows_left_out() -> Iterator[Form]:
    def softmax(scores: Any, axis: int = -1) -> Array:
        x = np.asarray(scores)
        if x.ndim == 2 and axis in (-1, 1):
            x = x[~np.isneginf(x).all(axis=-1)]
        return right_softmax(x, axis)

    yield softmax


@misconception(
    "softmax",
    "one hidden score hides its row",
    about="empty",
    told=(
        "As soon as one score of a row is −∞, your code hides the whole row. The other scores of "
        "that row are ordinary ones and share the 1."
    ),
    question="When is a row to be zeros: when any of its scores is −∞, or when all are?",
)
def one_hides_row() -> Iterator[Form]:
    def hidden_if(choose: Callable[[Array, int], Any]) -> Form:
        return of_scores(
            lambda x, axis: right_softmax(x, axis) * np.logical_not(choose(np.isneginf(x), axis))
        )

    yield hidden_if(lambda hidden, axis: hidden.any(axis=axis, keepdims=True))
    yield hidden_if(lambda hidden, axis: np.take(hidden, [0], axis=axis))
    yield hidden_if(lambda hidden, axis: np.take(hidden, [-1], axis=axis))


@misconception(
    "softmax",
    "fill above low scores",
    about="range",
    told=(
        "Your code replaces −∞ by a fixed number. In a row whose scores lie below that number, the"
        " hidden position becomes the largest and takes all the weight."
    ),
    question="Which number lies below every score that there can be?",
)
def fill_above_low_scores() -> Iterator[Form]:
    def filled(fill: float) -> Form:
        return of_scores(
            lambda x, axis: (
                right_softmax(np.where(np.isneginf(x), fill, x), axis)
                * ~np.isneginf(x).all(axis=axis, keepdims=True)
            )
        )

    yield from map(filled, (-10.0, -50.0, -100.0, -1e3, -1e4, -5e4, -65504.0, -1e5))


@misconception(
    "softmax",
    "exponents bounded from below",
    about="range",
    told=(
        "Your code keeps the exponents from falling below a fixed number. What lies further down, "
        "hidden positions among it, then still gets some weight."
    ),
    question="What does exp give far below zero, and is there anything to protect it from?",
)
def bounded_from_below() -> Iterator[Form]:
    yield from map(exponents_bounded, (-20.0, -30.0, -50.0, -64.0, -80.0, -88.0, -100.0, -700.0))


# --- softmax: number types --------------------------------------------------------------------


def cast_to(dtype_of: Callable[[Array], Any]) -> Form:
    """A right softmax whose weights come in the dtype that `dtype_of(scores)` names."""

    def softmax(scores: Any, axis: int = -1) -> Array:
        x = np.asarray(scores)
        return oracle.softmax(x, axis).astype(dtype_of(x))

    return softmax


@misconception(
    "softmax",
    "always float64",
    about="dtype",
    told=(
        "Your code computes in float64 and returns that, whatever it was given. In a model of 16 "
        "or 32 bits everything after it then takes twice or four times the memory."
    ),
    question="Which dtype did the scores have, and where do you go back to it?",
    source="netket/netket#1218",
)
def always_float64() -> Iterator[Form]:
    yield cast_to(lambda x: np.float64)


@misconception(
    "softmax",
    "always float32",
    about="dtype integers",
    told=(
        "Your code returns float32, whatever it was given: half the digits of float64 scores are "
        "lost."
    ),
    question="Which dtype did the scores have, and which has your result?",
)
def always_float32() -> Iterator[Form]:
    yield cast_to(lambda x: np.float32)
    yield cast_to(lambda x: np.float64 if x.dtype == np.float64 else np.float32)
    yield cast_to(lambda x: np.promote_types(x.dtype, np.float32))
    yield cast_to(lambda x: x.dtype if x.dtype.kind == "f" else np.float32)


@misconception(
    "softmax",
    "integer result",
    about="integers",
    told=(
        "Your result has the integer type of the scores. Weights are fractions, so every one below"
        " 1 is cut off to 0."
    ),
    question="Which type must a number have to be able to hold 1/3?",
    source="a question-and-answer thread on a softmax written into np.zeros_like(scores)",
)
def integer_result() -> Iterator[Form]:
    yield cast_to(lambda x: x.dtype)


@misconception(
    "softmax",
    "small integers stay narrow",
    about="integers",
    told=(
        "Your code subtracts or exponentiates in the integers' own type. exp of an 8-bit integer "
        "is a 16-bit float in NumPy, and unsigned integers wrap round below 0."
    ),
    question="Of which type is `np.exp` of an int8 array, and what is 1 − 2 in uint8?",
)
def narrow_integers() -> Iterator[Form]:
    def by_numpy(scores: Any, axis: int = -1) -> Array:
        x = np.asarray(scores)
        e = np.exp(x - x.max(axis=axis, keepdims=True))
        return np.asarray(e / e.sum(axis=axis, keepdims=True))

    def then_float64(scores: Any, axis: int = -1) -> Array:
        return by_numpy(scores, axis).astype(np.float64)

    def cast_late(scores: Any, axis: int = -1) -> Array:
        x = np.asarray(scores)
        return over_sum(np.exp((x - x.max(axis=axis, keepdims=True)).astype(np.float64)), axis)

    def with_numpys_type(scores: Any, axis: int = -1) -> Array:
        x = np.asarray(scores)
        return right_softmax(x, axis).astype(np.exp(x.flat[:1]).dtype)

    yield from (by_numpy, then_float64, cast_late, with_numpys_type)


@misconception(
    "softmax",
    "fractions into an integer array",
    about="integers",
    told=(
        "Your code subtracts or divides inside an array of integers (`-=`, `/=`, `out=`). NumPy "
        "refuses to put a fraction there."
    ),
    question="Which type must the array have before you write the result of a division into it?",
)
def written_into_integers() -> Iterator[Form]:
    def shifted(scores: Any, axis: int = -1) -> Array:
        x = np.array(scores)
        x -= row_maximum(wide(x), axis)
        return right_softmax(x, axis)

    def divided(scores: Any, axis: int = -1) -> Array:
        x = np.array(scores)
        x /= 1.0
        return right_softmax(x, axis)

    yield from (shifted, divided)


@misconception(
    "softmax",
    "16 bits inside",
    about="precision",
    told=(
        "Your code computes in the 16 bits that it was given. There a running sum of ones stops at"
        " 2048, and each step keeps only three digits."
    ),
    question=(
        "In which type could the exponentials and their sum be kept, before you go back to 16 bits?"
    ),
    source="huggingface/candle#3727; sonos/tract#2586; pytorch/executorch#20089",
)
def half_inside() -> Iterator[Form]:
    def in_half(add: Callable[[Array, int], Array]) -> Form:
        def softmax(scores: Any, axis: int = -1) -> Array:
            x = np.asarray(scores).astype(float_type(scores))
            e = np.exp(x - row_maximum(x, axis))
            total = add(e, axis)
            return np.asarray(e / np.where(total == 0, 1, total)).astype(x.dtype)

        return softmax

    def one_by_one(e: Array, axis: int) -> Array:
        return np.take(np.cumsum(e, axis=axis, dtype=e.dtype), [-1], axis=axis)

    yield in_half(one_by_one)
    yield in_half(lambda e, axis: e.sum(axis=axis, keepdims=True))
    yield in_half(lambda e, axis: e.sum(axis=axis, keepdims=True, dtype=np.float32))

    def differences_only(scores: Any, axis: int = -1) -> Array:
        x = np.asarray(scores).astype(float_type(scores))
        shifted = x - row_maximum(x, axis)
        return over_sum(np.exp(wide(shifted)), axis).astype(x.dtype)

    yield differences_only


@misconception(
    "softmax",
    "scores changed in place",
    about="changes",
    told=(
        "Your code subtracts the maximum inside the array that the caller handed over (`-=`, "
        "`out=`). After the call the caller's own scores are others."
    ),
    question="Which operation writes into the array itself, and which makes a new one?",
    source="hao-ai-lab/FastVideo#1457",
)
def changed_in_place() -> Iterator[Form]:
    def shifted_in_place(writeable_only: bool) -> Form:
        def softmax(scores: Any, axis: int = -1) -> Array:
            x = np.asarray(scores)
            if x.dtype.kind != "f" or (writeable_only and not x.flags.writeable):
                x = x.astype(float_type(x))
            x -= row_maximum(x, axis)
            return over_sum(np.exp(wide(x)), axis).astype(x.dtype)

        return softmax

    def all_in_place(scores: Any, axis: int = -1) -> Array:
        x = np.asarray(scores)
        if x.dtype.kind != "f":
            x = x.astype(np.float64)
        x -= row_maximum(x, axis)
        np.exp(x, out=x)
        x /= x.sum(axis=axis, keepdims=True)
        return x

    def filled_in_place(scores: Any, axis: int = -1) -> Array:
        x = np.asarray(scores)
        x[np.isneginf(x)] = -1e9
        return right_softmax(x, axis)

    yield shifted_in_place(writeable_only=False)
    yield shifted_in_place(writeable_only=True)
    yield all_in_place
    yield filled_in_place


# --- softmax_list -----------------------------------------------------------------------------


@right("softmax_list")
def right_list(row: list[float]) -> list[float]:
    """The oracle itself."""
    return oracle.softmax_row(row)


def list_form(
    shift: Callable[[list[float]], float], empty: Callable[[int], list[float]] | None
) -> Form:
    """A softmax of a list that subtracts `shift(row)`; `empty` gives the row of −∞ throughout."""

    def softmax_list(row: list[float]) -> list[float]:
        if empty and max(row) == -math.inf:
            return empty(len(row))
        exponentials = [math.exp(score - shift(row)) for score in row]
        return [e / sum(exponentials) for e in exponentials]

    return softmax_list


def zeros(count: int) -> list[float]:
    """What a row of −∞ gives."""
    return [0.0] * count


def through_numpy(shift: Callable[[Array], Any]) -> Form:
    """The same in NumPy, which warns where plain Python raises."""

    def softmax_list(row: list[float]) -> list[float]:
        e = np.exp(np.array(row) - shift(np.array(row)))
        return [float(weight) for weight in e / e.sum()]

    return softmax_list


def guarded_list(shift: Callable[[list[float]], float]) -> Form:
    """The same with a guard against a sum of 0."""

    def softmax_list(row: list[float]) -> list[float]:
        exponentials = [math.exp(score - shift(row)) for score in row]
        total = sum(exponentials)
        return [e / total if total else 0.0 for e in exponentials]

    return softmax_list


@misconception(
    "softmax_list",
    "no maximum subtracted",
    about="range",
    told=(
        "Your code takes the exponential of the scores as they are. math.exp(1000) is larger than "
        "any float, and exp(−1000) is 0, so that nothing is left to divide by."
    ),
    question="Which number could you take away from every score without changing a weight?",
)
def list_no_maximum() -> Iterator[Form]:
    yield list_form(lambda row: 0.0, None)
    yield list_form(lambda row: 0.0, zeros)
    yield guarded_list(lambda row: 0.0)
    yield through_numpy(lambda row: 0.0)


@misconception(
    "softmax_list",
    "maximum of absolute values",
    about="range",
    told=(
        "Your code subtracts the largest absolute value. In a row far below zero that is a large "
        "positive number, and every exponential becomes 0."
    ),
    question="For the row −1000, −1001: what do you subtract, and what is left in the exponent?",
)
def list_maximum_of_absolutes() -> Iterator[Form]:
    def largest(row: list[float]) -> float:
        return max(abs(score) for score in row if score != -math.inf)

    yield list_form(largest, zeros)
    yield guarded_list(largest)
    yield guarded_list(lambda row: max(map(abs, row)))
    yield list_form(lambda row: max(map(abs, row)), zeros)


@misconception(
    "softmax_list",
    "maximum starts at zero",
    about="range",
    told=(
        "Your maximum is never below 0, because it starts there. When the whole row lies far below"
        " zero, every exponential is 0 and nothing is left to divide by."
    ),
    question="Where must a search for a maximum start, so that any score can replace it?",
)
def list_maximum_starts_at_zero() -> Iterator[Form]:
    yield list_form(lambda row: max(0.0, *row), None)
    yield list_form(lambda row: max(0.0, *row), zeros)
    yield guarded_list(lambda row: max(0.0, *row))


@misconception(
    "softmax_list",
    "mean or first score subtracted",
    about="range",
    told=(
        "Your code subtracts a score that need not be the largest (the mean, the first, the last "
        "or the smallest). That changes no weight on paper, but a score far above it still "
        "overflows."
    ),
    question="Which choice makes sure that no exponent is above 0?",
)
def list_other_shift() -> Iterator[Form]:
    choices: list[Callable[[list[float]], float]] = [
        lambda row: sum(row) / len(row),
        lambda row: row[0],
        lambda row: row[-1],
        min,
    ]

    def mean_of_allowed(row: list[float]) -> float:
        allowed = [score for score in row if score != -math.inf]
        return sum(allowed) / len(allowed)

    choices.append(mean_of_allowed)
    for choice in choices:
        yield list_form(choice, zeros)
        yield list_form(choice, None)
        yield guarded_list(choice)


@misconception(
    "softmax_list",
    "NaN for a row of −∞",
    about="empty",
    told="In a row of −∞ throughout, your maximum is −∞ as well, and −∞ minus −∞ is NaN.",
    question="What does your code know about the row before it subtracts anything?",
)
def list_nan() -> Iterator[Form]:
    yield list_form(max, None)
    yield through_numpy(lambda row: row.max())


@misconception(
    "softmax_list",
    "division by zero for a row of −∞",
    about="empty",
    told="In a row of −∞ throughout, every exponential is 0, and so is the sum that you divide by.",
    question="What should the weights be when there is nothing to choose?",
)
def list_zero_division() -> Iterator[Form]:
    yield list_form(lambda row: max(row) if max(row) > -math.inf else 0.0, None)


@misconception(
    "softmax_list",
    "equal weights for a row of −∞",
    about="empty",
    told="In a row of −∞ throughout, your code gives every position the same weight.",
    question="What should be chosen when nothing may be?",
)
def list_equal() -> Iterator[Form]:
    yield list_form(max, lambda count: [1.0 / count] * count)

    def filled(row: list[float]) -> list[float]:
        return oracle.softmax_row([max(score, -1e9) for score in row])

    yield filled


@misconception(
    "softmax_list",
    "exponentials not divided by their sum",
    about="formula",
    told=(
        "Your numbers are exponentials that were never divided by their sum. They are positive, "
        "but nothing makes them sum to 1."
    ),
    question="What turns positive numbers into shares of a whole?",
)
def list_not_divided() -> Iterator[Form]:
    yield lambda row: [math.exp(score) for score in row]
    yield lambda row: [math.exp(score - max(row)) for score in row]
    yield (
        lambda row: (
            zeros(len(row))
            if max(row) == -math.inf
            else [math.exp(score - max(row)) for score in row]
        )
    )


@misconception(
    "softmax_list",
    "scores divided without exp",
    about="formula",
    told="Your code divides the scores by their sum, without the exponential.",
    question="Which step makes every score positive before you divide?",
)
def list_without_exp() -> Iterator[Form]:
    yield lambda row: [score / sum(row) for score in row]
    yield lambda row: [abs(score) / sum(map(abs, row)) for score in row]


@misconception(
    "softmax_list",
    "weights rounded",
    about="formula",
    told="Your code rounds the weights. Rounded shares need not sum to 1, and small ones are lost.",
    question="Who needs the rounding, the computation or the reader?",
)
def list_rounded() -> Iterator[Form]:
    def rounded(digits: int) -> Form:
        return lambda row: [round(weight, digits) for weight in oracle.softmax_row(row)]

    yield from map(rounded, range(7))


@misconception(
    "softmax_list",
    "shift in the numerator only",
    about="formula",
    told=(
        "Your code subtracts the maximum in the numerator, but sums exponentials of the scores as "
        "they were."
    ),
    question="Of which numbers is the sum that the numerators are divided by?",
)
def list_shift_in_numerator() -> Iterator[Form]:
    def softmax_list(row: list[float]) -> list[float]:
        total = sum(math.exp(score) for score in row)
        return [math.exp(score - max(row)) / total for score in row]

    yield softmax_list


@misconception(
    "softmax_list",
    "list changed in place",
    about="changes",
    told=(
        "Your code writes into the list that the caller handed over. After the call the caller's "
        "own scores are others."
    ),
    question=(
        "Which of your lines changes `row` itself, and what could hold the new numbers instead?"
    ),
)
def list_changed() -> Iterator[Form]:
    def shifted(row: list[float]) -> list[float]:
        highest = max(row)
        if highest == -math.inf:
            return zeros(len(row))
        for index, score in enumerate(row):
            row[index] = score - highest
        return oracle.softmax_row(row)

    def overwritten(row: list[float]) -> list[float]:
        row[:] = oracle.softmax_row(row)
        return row

    def exponentiated(row: list[float]) -> list[float]:
        highest = max(row)
        if highest == -math.inf:
            return zeros(len(row))
        for index, score in enumerate(row):
            row[index] = math.exp(score - highest)
        return [e / sum(row) for e in row]

    def sorted_first(row: list[float]) -> list[float]:
        row.sort()
        return oracle.softmax_row(row)

    yield from (shifted, overwritten, exponentiated, sorted_first)


@misconception(
    "softmax_list",
    "divided by the sum of the scores",
    about="formula",
    told=(
        "Your code divides the exponentials by the sum of the scores. The weights sum to 1 only if"
        " they are divided by the sum of what stands above the line."
    ),
    question="Which numbers stand above the line, and what is their sum?",
)
def list_over_scores() -> Iterator[Form]:
    def softmax_list(row: list[float]) -> list[float]:
        if max(row) == -math.inf:
            return zeros(len(row))
        total = sum(score for score in row if score != -math.inf)
        return [math.exp(score - max(row)) / total if total else 0.0 for score in row]

    yield softmax_list
    yield lambda row: [math.exp(score) / sum(row) for score in row]


@misconception(
    "softmax_list",
    "sum changes while dividing",
    about="formula",
    told=(
        "Your code sums the list anew for each weight, while it already writes weights into that "
        "list. From the second one on it divides by another sum."
    ),
    question="When is the sum to be taken: before the first division, or at each?",
)
def list_sum_changes() -> Iterator[Form]:
    def softmax_list(row: list[float]) -> list[float]:
        if max(row) == -math.inf:
            return zeros(len(row))
        numbers = [math.exp(score - max(row)) for score in row]
        for index in range(len(numbers)):
            numbers[index] = numbers[index] / sum(numbers)
        return numbers

    yield softmax_list


@misconception(
    "softmax_list",
    "large epsilon",
    about="formula",
    told=(
        "Your code adds a small number to the sum before it divides. One that is too large takes a"
        " visible share of the weights, so they sum to less than 1."
    ),
    question="What is the sum at least, once the maximum has been subtracted: can it be 0 at all?",
)
def list_large_epsilon() -> Iterator[Form]:
    def added(epsilon: float) -> Form:
        def softmax_list(row: list[float]) -> list[float]:
            highest = max(row) if max(row) > -math.inf else 0.0
            numbers = [math.exp(score - highest) for score in row]
            return [number / (sum(numbers) + epsilon) for number in numbers]

        return softmax_list

    yield from map(added, (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0))


@misconception(
    "softmax_list",
    "whole-number division",
    about="formula",
    told="Your code divides with `//`, which cuts every weight below 1 off to 0.",
    question="What is 1 // 2, and what should it be?",
)
def list_floor_division() -> Iterator[Form]:
    def softmax_list(row: list[float]) -> list[float]:
        if max(row) == -math.inf:
            return zeros(len(row))
        numbers = [math.exp(score - max(row)) for score in row]
        return [number // sum(numbers) for number in numbers]

    yield softmax_list
    yield lambda row: [int(weight) for weight in oracle.softmax_row(row)]


@misconception(
    "softmax_list",
    "logarithm of the weights",
    about="formula",
    told=(
        "Your code returns the logarithms of the weights. They are 0 or below, and do not sum to 1."
    ),
    question="What is still to be done to a logarithm to get the weight itself?",
)
def list_logarithms() -> Iterator[Form]:
    def softmax_list(row: list[float]) -> list[float]:
        if max(row) == -math.inf:
            return zeros(len(row))
        total = sum(math.exp(score - max(row)) for score in row)
        return [score - max(row) - math.log(total) for score in row]

    yield softmax_list


@misconception(
    "softmax_list",
    "scores cut to whole numbers",
    about="formula",
    told=(
        "Your code cuts the scores to whole numbers before the exponential; their fractions count "
        "too."
    ),
    question="What becomes of the difference between 0.9 and 0.1 in your code?",
)
def list_cut() -> Iterator[Form]:
    def softmax_list(row: list[float]) -> list[float]:
        if max(row) == -math.inf:
            return zeros(len(row))
        return oracle.softmax_row([s if s == -math.inf else float(int(s)) for s in row])

    def rounded(row: list[float]) -> list[float]:
        if max(row) == -math.inf:
            return zeros(len(row))
        return oracle.softmax_row([s if s == -math.inf else float(round(s)) for s in row])

    yield from (softmax_list, rounded)


@misconception(
    "softmax_list",
    "no list",
    about="formula",
    told=(
        "Your code gives the right numbers, but not in a list: an array, a tuple or a generator, "
        "which can be read only once."
    ),
    question="Which kind of thing does the docstring promise, and how do you make one?",
)
def list_no_list() -> Iterator[Form]:
    yield lambda row: np.array(oracle.softmax_row(row))
    yield lambda row: tuple(oracle.softmax_row(row))
    yield lambda row: (weight for weight in oracle.softmax_row(row))


@misconception(
    "softmax_list",
    "hidden positions keep a little",
    about="empty range",
    told=(
        "Your code replaces −∞ by a number that is not low enough for every row, or bounds the "
        "exponents from below. A position that must not be seen then still gets some weight."
    ),
    question="What is exp(−∞), and would it need any help?",
)
def list_hidden_keeps() -> Iterator[Form]:
    def filled(fill: float) -> Form:
        def softmax_list(row: list[float]) -> list[float]:
            if max(row) == -math.inf:
                return zeros(len(row))
            return oracle.softmax_row([fill if s == -math.inf else s for s in row])

        return softmax_list

    def bounded(least: float) -> Form:
        def softmax_list(row: list[float]) -> list[float]:
            if max(row) == -math.inf:
                return zeros(len(row))
            return oracle.softmax_row([max(s - max(row), least) for s in row])

        return softmax_list

    yield from map(filled, (-10.0, -30.0, -50.0, -100.0, -1e3, -1e4, -1e5))
    yield from map(bounded, (-30.0, -50.0, -100.0, -700.0, -708.0, -745.0))


@misconception(
    "softmax_list",
    "hidden scores left out",
    about="empty range",
    told="Your result has no entries for scores of −∞, so it is shorter than the row.",
    question="Which weight belongs to a score of −∞, and where must it stand?",
)
def list_left_out() -> Iterator[Form]:
    def softmax_list(row: list[float]) -> list[float]:
        if max(row) == -math.inf:
            return zeros(len(row))
        return oracle.softmax_row([score for score in row if score != -math.inf])

    def nothing(row: list[float]) -> list[float]:
        allowed = [score for score in row if score != -math.inf]
        return oracle.softmax_row(allowed) if allowed else []

    yield from (softmax_list, nothing)


@misconception(
    "softmax_list",
    "a single score always gets 1",
    about="empty",
    told="Your code gives a single score the weight 1 without looking at it, even if it is −∞.",
    question="What may be chosen when the only score is −∞?",
)
def list_single() -> Iterator[Form]:
    yield lambda row: [1.0] if len(row) == 1 else oracle.softmax_row(row)
