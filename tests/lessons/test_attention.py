"""Lesson 02: its worked example is a fact."""

import random

import numpy as np

from grader import oracle


def test_the_worked_example_gives_the_weights_that_the_lesson_prints() -> None:
    rng = random.Random(3)
    X, W_q, W_k, W_v = (
        np.array([[rng.gauss(0, 1) for _ in range(8)] for _ in range(rows)])
        for rows in (5, 8, 8, 8)
    )
    Q, K, V = (X @ W / np.sqrt(8) for W in (W_q, W_k, W_v))
    causal = np.tri(5, dtype=bool)
    assert oracle.attention(Q, K, V, causal)[1].round(2).tolist() == [
        [1.00, 0, 0, 0, 0],
        [0.40, 0.60, 0, 0, 0],
        [0.21, 0.07, 0.72, 0, 0],
        [0.11, 0.10, 0.67, 0.11, 0],
        [0.19, 0.14, 0.25, 0.22, 0.19],
    ]
    padded = oracle.attention(Q, K, V, np.arange(5) < 3)[1]
    assert padded[0].round(2).tolist() == [0.40, 0.13, 0.47, 0, 0]


def test_a_query_that_may_attend_to_nothing_gets_zeros() -> None:
    x = np.ones((2, 3))
    output, weights = oracle.attention(x, x, x, np.array([[True, True], [False, False]]))
    assert weights.tolist() == [[0.5, 0.5], [0.0, 0.0]]
    assert output[1].tolist() == [0.0, 0.0, 0.0]
