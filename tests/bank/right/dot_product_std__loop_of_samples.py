"""Correct but unusual: one pair at a time, and statistics.stdev.
"""
import statistics


def dot_product_std(d_k, n_samples, rng):
    scores = []
    for _ in range(n_samples):
        q, k = rng.standard_normal(d_k), rng.standard_normal(d_k)
        scores.append(float(q @ k))
    return statistics.stdev(scores)
