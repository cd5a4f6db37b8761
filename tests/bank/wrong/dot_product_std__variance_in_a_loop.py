"""Misconception: a loop that sums squares and divides, without a root.

Source (analogue): hadley/r4ds#650
"""
import numpy as np


def dot_product_std(d_k, n_samples, rng):
    scores = [rng.standard_normal(d_k) @ rng.standard_normal(d_k) for _ in range(n_samples)]
    mean = sum(scores) / n_samples
    return sum((s - mean) ** 2 for s in scores) / (n_samples - 1)
