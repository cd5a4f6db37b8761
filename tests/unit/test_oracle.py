"""The oracle obeys the laws that define a softmax."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from grader import oracle

SCORES = st.floats(-1e6, 1e6) | st.just(-math.inf)
ROWS = st.lists(SCORES, min_size=1, max_size=8)


def has_a_score(row):
    return max(row) > -math.inf


def test_by_hand():
    weights = oracle.softmax_row([0.0, math.log(2), math.log(3)])
    assert np.allclose(weights, [1 / 6, 1 / 3, 1 / 2], rtol=1e-15)


@given(ROWS.filter(has_a_score))
def test_weights_lie_between_0_and_1_and_sum_to_1(row):
    weights = oracle.softmax_row(row)
    assert all(0 <= weight <= 1 for weight in weights)
    assert math.isclose(math.fsum(weights), 1, rel_tol=1e-14)


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=8), st.integers(-(10**6), 10**6))
def test_adding_a_number_to_all_scores_changes_nothing(row, shift):
    shifted = oracle.softmax_row([float(score + shift) for score in row])
    assert shifted == oracle.softmax_row([float(score) for score in row])


@given(ROWS, st.randoms(use_true_random=False))
def test_weights_move_with_their_scores(row, random):
    order = list(range(len(row)))
    random.shuffle(order)
    weights = oracle.softmax_row(row)
    moved = oracle.softmax_row([row[index] for index in order])
    assert moved == [weights[index] for index in order]


@given(st.lists(st.floats(-300, 300), min_size=2, max_size=8))
def test_a_quotient_of_weights_is_the_exponential_of_the_difference(row):
    first, second = oracle.softmax_row(row)[:2]
    if first and second:
        assert math.isclose(math.log(first / second), row[0] - row[1], abs_tol=1e-9)


@given(ROWS)
def test_minus_infinity_gets_exactly_nothing(row):
    for score, weight in zip(row, oracle.softmax_row(row), strict=True):
        assert score > -math.inf or weight == 0.0


@given(st.integers(1, 5))
def test_a_row_without_a_score_gives_zeros(length):
    assert oracle.softmax_row([-math.inf] * length) == [0.0] * length


@given(st.integers(0, 2), st.booleans())
def test_every_slice_along_the_axis_is_a_row_of_its_own(axis, from_the_back):
    scores = np.random.default_rng(3).normal(size=(2, 3, 4))
    weights = oracle.softmax(scores, axis - 3 if from_the_back else axis)
    assert weights.shape == scores.shape
    for index in np.ndindex(*np.delete(scores.shape, axis)):
        cut = (*index[:axis], slice(None), *index[axis:])
        assert weights[cut].tolist() == oracle.softmax_row(scores[cut].tolist())


def test_integers_and_float16_are_computed_in_float64():
    for kind in (np.int8, np.float16):
        scores = np.array([100, 1, 99], dtype=kind)
        assert oracle.softmax(scores).dtype == np.float64
        assert np.array_equal(oracle.softmax(scores), oracle.softmax(scores.astype(float)))
