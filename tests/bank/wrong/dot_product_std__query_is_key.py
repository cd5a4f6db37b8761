"""Misconception: multiplies each vector with itself.

Source (by construction): one draw for both
"""
import numpy as np


def dot_product_std(d_k, n_samples, rng):
    x = rng.standard_normal((n_samples, d_k))
    return np.sum(x * x, axis=-1).std()
