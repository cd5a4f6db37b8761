"""Misconception: divides the dot products by the root first.

Source (by construction): the formula of attention copied
"""
import numpy as np


def dot_product_std(d_k, n_samples, rng):
    q = rng.standard_normal((n_samples, d_k))
    k = rng.standard_normal((n_samples, d_k))
    return float(np.std((q * k).sum(-1) / np.sqrt(d_k)))
