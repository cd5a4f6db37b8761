"""Misconception: returns the variance; the root is forgotten.

Source (analogue): hadley/r4ds#650
"""
import numpy as np


def dot_product_std(d_k, n_samples, rng):
    q = rng.normal(size=(n_samples, d_k))
    k = rng.normal(size=(n_samples, d_k))
    return np.var(np.sum(q * k, axis=1))
