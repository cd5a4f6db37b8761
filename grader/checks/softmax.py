"""Lesson 01: what `softmax_list` and `softmax` must do, one mechanism a check.

Expected values come from the oracle or from algebra; no check relies on another."""

import math
from typing import Any

import numpy as np

from grader import oracle
from grader.checks.ask import (
    FLOAT16,
    FLOAT32,
    FLOAT64,
    Answer,
    Tolerance,
    asking,
    passed,
    shown_apart,
)
from grader.checks.diagnose import graded
from grader.checks.shrink import on_smallest
from grader.misconceptions import softmax as _named  # noqa: F401  (registers them)
from grader.seeds import generator

ask_list = asking("softmax_list")
ask = asking("softmax")

BY_HAND = [0.0, math.log(2), math.log(3)]
EACH_WEIGHT = "Each weight is the exponential of its own score, divided by the sum of them all."
BY_HAND_WEIGHTS = np.array([1 / 6, 1 / 3, 1 / 2])
NO_SCORE = -math.inf
# Rows by which mistakes about the range of scores are told apart.
ORDINARY_LISTS = (([1.0, 0.5, -1.0],), ([-800.0, 1.0],), ([1000.0, 999.0],))
ORDINARY = tuple((np.array(row),) for (row,) in ORDINARY_LISTS)
TABLE = (np.array([[1.0, 2.0], [4.0, 3.0]]),)
# Rows on which a softmax computed in float16 throughout, or up to exp, leaves the tolerance.
ROUNDED_BY_HALF = (
    [-2.423828125, -2.013671875, -2.091796875, 2.75],
    [3.146484375, 0.59423828125, 7.23046875],
)


# --- softmax_list -----------------------------------------------------------------------------


@graded("softmax_list", about="formula")
def list_by_hand(softmax_list: Any) -> None:
    """The case worked by hand, then random rows of one to six scores."""
    seen = ask_list(softmax_list, BY_HAND)
    weights = seen.must_be_list_of_floats(3)
    why = "The exponentials of these scores are 1, 2 and 3, and they sum to 6."
    _must_weigh(seen, weights, BY_HAND_WEIGHTS, why)
    for length in (1, 2, 6):
        row = _scores("list_by_hand", (length,))
        on_smallest(lambda x: _list_must_equal_oracle(softmax_list, x.tolist(), EACH_WEIGHT), row)
    passed(
        "softmax_list gives 1/6, 1/3, 1/2 for the case by hand, and is right on random rows", seen
    )


@graded("softmax_list", about="range", also=ORDINARY_LISTS)
def list_large(softmax_list: Any) -> None:
    """Scores around +1000 and around −1000: exp alone overflows, or every term underflows."""
    why = "A row of large scores has ordinary weights; only the differences between scores count."
    _list_must_equal_oracle(softmax_list, [1000.0, 999.0, 0.0], why)
    _list_must_equal_oracle(softmax_list, [0.0, 0.0, 0.0, 4000.0], why)
    why = "A row far below zero has ordinary weights too; only the differences count."
    _list_must_equal_oracle(softmax_list, [-1000.0, -1001.0], why)
    offset = float(generator("list_large").integers(5_000, 900_000))
    _list_must_equal_oracle(softmax_list, [offset, offset + 1.0], why)
    _list_must_equal_oracle(softmax_list, [-offset, -offset - 2.0], why)
    why = "A score of −inf lies below every other one, however far below zero those are."
    seen = _list_must_equal_oracle(softmax_list, [-offset, NO_SCORE, -offset - 2.0], why)
    passed("softmax_list is right for scores near 1000, near −1000 and beyond", seen)


@graded("softmax_list", about="empty")
def list_masked(softmax_list: Any) -> None:
    """−inf among the scores gives exactly 0; −inf throughout gives zeros."""
    why = "A score of −inf means: not this one. Its weight is exactly 0, the others share the 1."
    _list_must_equal_oracle(softmax_list, [NO_SCORE, 0.0, 0.0], why)
    _list_must_equal_oracle(softmax_list, [0.0, -_step("list_masked"), NO_SCORE], why)
    why = "When every score is −inf there is nothing to choose; the weights are defined as zeros."
    _list_must_equal_oracle(softmax_list, [NO_SCORE] * 3, why)
    seen = _list_must_equal_oracle(softmax_list, [NO_SCORE], why)
    passed("softmax_list gives weight 0 to a score of −inf, and zeros when all are −inf", seen)


@graded("softmax_list", about="changes")
def list_unchanged(softmax_list: Any) -> None:
    """The caller's list is the same after the call."""
    seen = ask_list(softmax_list, [1.0, 3.0, NO_SCORE, 2.0])
    seen.must_not_change()
    why = "The weights of this row are others."  # whoever returns anything leaves the list alone
    seen = _list_must_equal_oracle(softmax_list, [0.0, -_step("list_unchanged")], why)
    passed("softmax_list leaves the caller's list alone", seen)


def _list_must_equal_oracle(softmax_list: Any, row: list[float], why: str) -> Answer:
    seen = ask_list(softmax_list, row)
    weights = seen.must_be_list_of_floats(len(row))
    _must_weigh(seen, weights, np.array(oracle.softmax_row(row)), why)
    _must_hide(seen, weights, np.array(row))
    return seen


# --- softmax ----------------------------------------------------------------------------------
# Only in `values` and `axis` does the axis matter: other tables are symmetric, and so are their
# weights, so that a wrong axis costs no other points.


@graded("softmax", about="formula")
def values(softmax: Any) -> None:
    """Along the last axis, with none to three leading axes, in any memory layout."""
    seen = ask(softmax, np.array(BY_HAND))
    why = "The exponentials of these scores are 1, 2 and 3, and they sum to 6."
    _must_weigh(seen, seen.must_be_array((3,)), BY_HAND_WEIGHTS, why)
    why = "Each row of the last axis is a softmax of its own."
    for shape in ((1, 1), (2, 3), (2, 1, 4), (2, 2, 2, 3)):
        on_smallest(lambda x: _must_equal_oracle(softmax, x, why), _scores("values", shape))
    square = _scores("values", (3, 3))
    _must_equal_oracle(softmax, square.T, why, note="in Fortran order")
    seen = _must_equal_oracle(softmax, np.repeat(square, 2, 1)[:, ::2], why, note="a strided view")
    passed("softmax is right along the last axis, for one to four axes", seen)


@graded("softmax", about="axis")
def axis(softmax: Any) -> None:
    """Along every axis that can be named, counted from either end."""
    for shape, number in [((2, 3), 0), ((2, 3), -2), ((3, 2), 1), ((2, 1, 3), 1), ((2, 3, 2), -3)]:

        def judge(scores: np.ndarray, number: int = number) -> Answer:
            why = f"With axis={number} every slice along that axis is a softmax of its own."
            title = f"not along axis {number}"
            return _must_equal_oracle(softmax, scores, why, title, axis=number)

        seen = on_smallest(judge, _scores("axis", shape))
    passed("softmax works along the axis it is given", seen)


@graded("softmax", about="range", also=ORDINARY)
def large(softmax: Any) -> None:
    """Scores near 1000 and far beyond: shift invariance upwards."""
    why = "Weights stay ordinary numbers however large the scores are; only differences count."
    _must_equal_oracle(softmax, np.array([1000.0, 999.0, 0.0]), why)
    _must_equal_oracle(softmax, np.array([0.0, 0.0, 0.0, 4000.0]), why)
    shift = float(generator("large").integers(2_000, 900_000))
    # Tenths of a large score are lost in float32.
    why = f"Adding {shift:.0f} to the scores 0, 0.3 and 1.1 changes no weight."
    seen = _must_equal_oracle(softmax, (np.array([0.0, 0.3, 1.1]) + shift).round(1), why)
    passed("softmax is right for scores of 1000 and more", seen)


@graded("softmax", about="range", also=ORDINARY)
def low(softmax: Any) -> None:
    """A row that lies far below zero throughout is an ordinary row."""
    why = "A row far below zero has ordinary weights: only the differences between scores count."
    depth = float(generator("low").integers(500_000, 900_000))
    for start in (-1000.0, -12_000.0, -depth):
        row = np.array([start, start - 1.0])
        _must_equal_oracle(softmax, row, why, "wrong far below zero")
    why = "A score of −inf lies below every other one, however far below zero those are."
    row = np.array([-depth, NO_SCORE, -depth - 1.0])
    seen = _must_equal_oracle(softmax, row, why, "wrong far below zero")
    passed("softmax is right for rows that lie wholly below −1000", seen)


@graded("softmax", about="rows", also=(*ORDINARY, TABLE))
def rows(softmax: Any) -> None:
    """Rows of very different size do not disturb each other."""
    why = "Each row is a softmax of its own, whatever stands beside it."
    # Far enough apart to drown each other, near enough to 0 that no row fails by itself.
    low, lower = -500.0, -500.0 - _step("rows")
    scores = np.array([[300.0, -1200.0, -1200.0], [-1200.0, low, lower], [-1200.0, lower, low]])
    seen = _must_equal_oracle(softmax, scores, why, "rows disturb others")
    passed("softmax treats each row by itself, whatever stands beside it", seen)


@graded("softmax", about="empty")
def masked(softmax: Any) -> None:
    """−inf gives exactly 0; a row of −inf throughout gives zeros, alone and among others."""
    why = "A score of −inf means: not this one. Its weight is exactly 0, the others share the 1."
    step = _step("masked")
    _must_equal_oracle(softmax, np.array([NO_SCORE, 0.0, -step]), why)
    _must_equal_oracle(softmax, np.array([0.0, -step, NO_SCORE]), why)
    why = "When every score is −inf there is nothing to choose; the weights are defined as zeros."
    for length in (3, 1):
        _must_equal_oracle(softmax, np.full(length, NO_SCORE), why, "wrong for all −inf")
    why = "Zeros for the row without any allowed score; the rows beside it stay as they are."
    scores = np.array([[NO_SCORE] * 3, [NO_SCORE, 1.0, 1.0], [NO_SCORE, 1.0, 1.0]])
    seen = _must_equal_oracle(softmax, scores, why, "wrong beside all −inf")
    passed("softmax gives weight 0 to −inf, and zeros where all scores are −inf", seen)


@graded("softmax", about="dtype")
def dtype(softmax: Any) -> None:
    """A floating dtype comes back as it went in."""
    for kind in (np.float32, np.float16, np.float64):
        scores = np.array([0.0, -_step("dtype")], dtype=kind)
        why = f"The scores are {scores.dtype}, so the weights must be {scores.dtype} too."
        seen = _must_come_back_as(softmax, scores, scores.dtype, why, EACH_WEIGHT)
    passed("softmax returns float16, float32 and float64 as they went in", seen)


@graded("softmax", about="integers")
def integers(softmax: Any) -> None:
    """Integer scores of every width give float64 weights."""
    other = int(generator("integers").integers(80, 99))
    for kind in (np.int64, np.int32, np.int8, np.uint8):
        scores = np.array([100, 1, 99, other], dtype=kind)
        why = f"Weights are fractions: {scores.dtype} has to become float64 before you compute."
        seen = _must_come_back_as(softmax, scores, np.dtype(np.float64), why, why)
    passed("softmax takes integers and gives float64", seen)


@graded("softmax", about="precision")
def precision(softmax: Any) -> None:
    """float16 is computed in something wider: the sum, the subtraction and the exponentials."""
    why = "The weights must be those computed in 32 bits or more, rounded to float16 at the end."
    count = int(generator("precision").integers(2200, 2500))
    _must_equal_oracle(softmax, np.zeros(count, np.float16), why, "loses digits", "", FLOAT16)
    for row in ROUNDED_BY_HALF:
        scores = np.array(row, np.float16)
        seen = _must_equal_oracle(softmax, scores, why, "loses digits", "", FLOAT16)
    passed("softmax computes float16 scores in a wider type", seen)


@graded("softmax", about="changes")
def unchanged(softmax: Any) -> None:
    """The caller's scores are the same after the call, writeable or not."""
    for kind in (np.float64, np.float32):
        seen = ask(softmax, np.array([2.0, NO_SCORE, -1.0], dtype=kind))
        seen.must_not_change()
    locked = np.array([0.0, -_step("unchanged")])
    locked.flags.writeable = False
    seen = _must_equal_oracle(
        softmax, locked, EACH_WEIGHT, note="an array that cannot be written to"
    )
    passed("softmax leaves the caller's scores alone", seen)


# --- shared -----------------------------------------------------------------------------------


def _scores(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Moderate random scores with two decimals, so that a failing call is short to read."""
    return generator(f"{name}{shape}").normal(0.0, 2.0, shape).round(2)


def _step(name: str) -> float:
    """A random difference between two scores: no table of answers holds for every course."""
    return round(float(generator(name).uniform(0.5, 2.5)), 2)


def _must_equal_oracle(
    softmax: Any,
    scores: np.ndarray,
    why: str,
    title: str = "",
    note: str = "",
    tolerance: Tolerance = FLOAT64,
    **axis: int,
) -> Answer:
    seen = ask(softmax, scores, note=note, **axis)
    weights = seen.must_be_array(scores.shape)
    _must_weigh(seen, weights, oracle.softmax(scores, **axis), why, title, tolerance, **axis)
    _must_hide(seen, weights, scores)
    return seen


def _must_come_back_as(
    softmax: Any, scores: np.ndarray, kind: np.dtype, why: str, why_weights: str
) -> Answer:
    seen = ask(softmax, scores)
    weights = seen.must_be_array(scores.shape)
    came = seen.value.dtype
    seen.demand(came == kind, f"{scores.dtype} in, {came} out", f"The result is {came}. {why}")
    tolerance = {"float16": FLOAT16, "float32": FLOAT32}.get(str(scores.dtype), FLOAT64)
    _must_weigh(seen, weights, oracle.softmax(scores), why_weights, tolerance=tolerance)
    return seen


def _must_weigh(
    seen: Answer,
    weights: np.ndarray,
    expected: np.ndarray,
    why: str,
    title: str = "",
    tolerance: Tolerance = FLOAT64,
    axis: int = -1,
) -> None:
    """Finite, nowhere negative, with the right sums along `axis`, and equal to the oracle."""
    seen.must_be_finite(weights, why, expected)
    seen.demand(bool((weights >= 0).all()), "negative weights", "No weight is below 0.", expected)
    sums, totals = weights.sum(axis=axis), expected.sum(axis=axis)
    if not tolerance.allows(sums, totals).all():
        along = f"Along axis {axis} the" if weights.ndim > 1 else "The"
        told = f"{along} weights sum to {shown_apart(sums, totals)[0]}. {why}"
        seen.fail(title or ("sums are not 1" if totals.all() else "not all zeros"), told, expected)
    seen.must_equal(weights, expected, title or "wrong weights", why, tolerance)


def _must_hide(seen: Answer, weights: np.ndarray, scores: np.ndarray) -> None:
    """Exactly 0 wherever the score is −inf: small is not hidden."""
    hidden = np.isneginf(scores)
    why = "A score of −inf means: not this one. Its weight is exactly 0, not only small."
    seen.demand(bool((weights[hidden] == 0).all()), "−inf gets weight", why)
