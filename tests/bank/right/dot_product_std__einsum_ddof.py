"""Correct but unusual: columns, einsum, and the divisor n - 1.
"""
import numpy as np


def dot_product_std(d_k, n_samples, rng):
    pairs = rng.normal(0.0, 1.0, size=(2, d_k, n_samples))
    return np.std(np.einsum("dn,dn->n", *pairs), ddof=1)
