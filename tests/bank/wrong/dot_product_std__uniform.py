"""Misconception: draws from a uniform distribution.

Source (by construction): `random` for `normal`
"""
import numpy as np


def dot_product_std(d_k, n_samples, rng):
    q = rng.random((n_samples, d_k))
    k = rng.random((n_samples, d_k))
    return np.std(np.sum(q * k, axis=1))
