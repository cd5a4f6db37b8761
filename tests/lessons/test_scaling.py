"""Lesson 04: its figures and its experiments, each over several seeds, and its right answers."""

import math
import random
import statistics
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grader import course, oracle, seeds
from grader.checks import scaling as checks
from grader.checks.ask import FLOAT64, CheckFailed
from grader.lesson import grade_id
from grader.observe import observe
from tests.student import bank, namespace, solved

LESSON = course.lesson("04-scaling")
SOLVED = namespace(LESSON)
RIGHT = {str(each): each.names for each in bank("right")}
SEEDS = range(3)


def after(*cells: str) -> dict[str, Any]:
    """The names after these demo cells, the defining part of each."""
    names = dict(SOLVED)
    for cell in solved(LESSON).cells:
        if grade_id(cell) in cells:
            exec(cell.source.split("\n\n\n")[0], names)
    return names


def implementations(exercise: str) -> dict[str, Any]:
    found = {name: names[exercise] for name, names in RIGHT.items() if exercise in names}
    return {"the solution": SOLVED[exercise]} | found


# --- the spread ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("d_k", "spread", "scaled"), [(16, 4.10, 1.03), (128, 11.47, 1.01), (1024, 31.77, 0.99)]
)
def test_the_figures_of_plain_python(d_k, spread, scaled):
    gauss = random.Random(d_k).gauss
    scores = [sum(gauss(0, 1) * gauss(0, 1) for _ in range(d_k)) for _ in range(2000)]
    measured = statistics.pstdev(scores)
    assert round(measured, 2) == spread
    assert round(measured / math.sqrt(d_k), 2) == scaled


@pytest.mark.parametrize("number", range(20))
def test_no_seed_fails_a_right_measurement(number):
    seeds.fold_in(b"seed %d" % number)
    try:
        checks.spread(SOLVED["dot_product_std"])
        checks.measured(SOLVED["dot_product_std"])
    finally:
        seeds.fold_in(b"")


def test_a_table_of_all_pairs_is_refused_while_it_is_small():
    asked = []

    def every_pair(d_k, n_samples, rng):
        asked.append(n_samples)
        assert n_samples <= 2000, "a table of 40,000 by 40,000 ends the kernel"
        queries, keys = rng.standard_normal((2, n_samples, d_k))
        return (queries @ keys.T).std()

    with pytest.raises(CheckFailed, match="16 MiB") as failed:
        checks.spread(every_pair)
    assert failed.value.misconception == "every query with every key"
    assert asked == [2000]


# --- weights ------------------------------------------------------------------------------------


def peaks(
    d_k: int, scale: float | None, seed: int, rows: int = 300
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    Q, K = rng.standard_normal((rows, 1, d_k)), rng.standard_normal((rows, 5, d_k))
    _, weights = SOLVED["attention"](Q, K, np.zeros((rows, 5, 1)), scale)
    return SOLVED["peakedness"](weights)


@pytest.mark.parametrize("seed", SEEDS)
def test_at_512_one_key_of_five_has_all_the_weight_unless_scores_are_scaled(seed):
    largest, _ = peaks(512, 1.0, seed, rows=1000)
    assert np.median(largest) > 0.9999
    assert largest.mean() == pytest.approx(0.964, abs=0.01)
    largest, _ = peaks(512, None, seed, rows=1000)
    assert np.median(largest) == pytest.approx(0.434, abs=0.02)
    assert largest.mean() == pytest.approx(0.460, abs=0.02)


@pytest.mark.parametrize("seed", SEEDS)
def test_entropy_stays_with_the_scale_and_goes_without(seed):
    scaled = [np.median(peaks(d_k, None, seed)[1]) for d_k in (4, 32, 256, 1024)]
    assert max(scaled) - min(scaled) < 0.1
    unscaled = [np.median(peaks(d_k, 1.0, seed)[1]) for d_k in (4, 32, 256, 1024)]
    assert unscaled == sorted(unscaled, reverse=True)
    assert unscaled[2] < 0.02


# --- gradients ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_the_gradient_of_a_typical_row_is_lost_without_the_scale(seed):
    row_gradients = after("gradient-by-width")["row_gradients"]

    def median(d_k: int, scale: float) -> float:
        return float(np.median(row_gradients(d_k, scale, np.random.default_rng(seed))))

    assert all(0.19 < median(d_k, d_k**-0.5) < 0.25 for d_k in (4, 16, 256, 1024))
    assert all(0.19 < median(d_k, 1.0) < 0.3 for d_k in (4, 16))
    assert median(256, 1.0) < 0.1 * median(256, 1 / 16)
    assert median(1024, 1.0) < 0.001 * median(1024, 1 / 32)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_mean_and_the_gradient_of_the_matrix_hide_it(seed):
    rng = np.random.default_rng(seed)
    x, others = rng.standard_normal((400, 64)), rng.standard_normal((32, 64))
    W_q, W_k = rng.normal(0, 1 / 8, (2, 64, 256))
    grad = rng.standard_normal((400, 32))
    Q, K = x @ W_q, others @ W_k
    found = []
    for scale in (1 / 16, 1.0):
        to_scores = SOLVED["softmax_backward"](SOLVED["softmax"](Q @ K.T * scale), grad)
        lengths = np.linalg.norm(to_scores, axis=-1)
        to_W_q = x.T @ (to_scores * scale) @ K / 400
        found.append((np.median(lengths), lengths.mean(), np.linalg.norm(to_W_q)))
    scaled, unscaled = found
    assert unscaled[0] / scaled[0] < 0.1 < 0.3 < unscaled[1] / scaled[1]
    assert unscaled[2] > 5 * scaled[2]


# --- training -----------------------------------------------------------------------------------

train = after("train")["train"]


def learned(found: np.ndarray) -> int:
    return int(np.argmax(found >= 0.95)) if found.max() >= 0.95 else 10**6


@pytest.mark.parametrize("seed", range(10))
def test_the_scaled_head_learns_through_its_values(seed):
    assert learned(train(1 / 16, 1, steps=30, seed=seed)) <= 30


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("rate", [1, 0.1, 0.01, 0.001, 0.0001])
def test_the_unscaled_head_does_not_at_any_rate(rate, seed):
    assert train(1.0, rate, steps=60, seed=seed).max() < 0.3


@pytest.mark.parametrize("seed", SEEDS)
def test_with_cross_entropy_on_the_weights_the_unscaled_head_is_ahead(seed):
    unscaled = learned(train(1.0, 0.01, "weights", steps=10, seed=seed))
    assert unscaled <= 10
    assert learned(train(1 / 16, 0.01, "weights", steps=5 * unscaled, seed=seed)) > 5 * unscaled


@pytest.mark.parametrize("seed", SEEDS)
def test_a_smaller_beginning_and_rate_is_the_same_training(seed):
    smaller = train(1.0, 1 / 16, steps=30, seed=seed, start=256**-0.25)
    assert np.allclose(train(1 / 16, 1, steps=30, seed=seed), smaller)


# --- low precision ------------------------------------------------------------------------------


def test_a_large_dot_product_leaves_float16_and_a_scaled_query_does_not():
    assert 512 * 12 * 12 == 73_728 > float(np.finfo(np.float16).max)
    assert round(73_728 / math.sqrt(512)) == 3258


@pytest.mark.parametrize("seed", SEEDS)
def test_scores_of_unit_variance_stay_far_below_the_limit(seed):
    q, k = np.random.default_rng(seed).standard_normal((2, 200, 4096))
    assert np.abs(q @ k.T).max() < 400


# --- right answers ------------------------------------------------------------------------------


@st.composite
def rows_of_weights(draw):
    """Softmax rows, in any shape; some weights and some whole rows are 0."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4))
    scores = draw(hnp.arrays(float, shape, elements=st.sampled_from([-math.inf, *range(-9, 10)])))
    return oracle.softmax(scores)


@pytest.mark.parametrize("name", implementations("peakedness"))
@settings(max_examples=25)
@given(weights=rows_of_weights())
def test_a_right_peakedness_agrees_with_the_oracle(name, weights):
    seen = observe(implementations("peakedness")[name], weights)
    assert seen.error is None and seen.changed == ()
    for value, expected in zip(seen.value, oracle.peakedness(weights), strict=True):
        assert np.shape(value) == expected.shape
        assert FLOAT64.allows(np.asarray(value), expected).all()


@pytest.mark.parametrize("name", implementations("softmax_backward"))
@settings(max_examples=25)
@given(weights=rows_of_weights(), data=st.data())
def test_a_right_softmax_backward_agrees_with_the_oracle(name, weights, data):
    grad = data.draw(hnp.arrays(float, weights.shape, elements=st.integers(-50, 50)))
    seen = observe(implementations("softmax_backward")[name], weights, grad)
    assert seen.error is None and seen.changed == ()
    assert FLOAT64.allows(seen.value, oracle.softmax_backward(weights, grad)).all()


@given(
    hnp.arrays(float, 4, elements=st.floats(-5, 5)), hnp.arrays(float, 4, elements=st.floats(-5, 5))
)
def test_the_oracle_agrees_with_finite_differences(scores, grad):
    def loss(moved: np.ndarray) -> float:
        return float(oracle.softmax(moved) @ grad)

    h = 1e-5
    slopes = [(loss(scores + h * unit) - loss(scores - h * unit)) / (2 * h) for unit in np.eye(4)]
    assert oracle.softmax_backward(oracle.softmax(scores), grad) == pytest.approx(slopes, abs=1e-7)
