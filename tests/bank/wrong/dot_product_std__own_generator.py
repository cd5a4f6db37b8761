"""Misconception: makes a generator of its own with a fixed seed.

Source (direct): CAREamics/careamics#67
"""
import numpy as np


def dot_product_std(d_k, n_samples, rng):
    rng = np.random.default_rng(42)
    q = rng.standard_normal((n_samples, d_k))
    k = rng.standard_normal((n_samples, d_k))
    return np.std(np.sum(q * k, axis=-1))
