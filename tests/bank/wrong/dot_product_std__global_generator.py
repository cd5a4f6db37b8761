"""Misconception: draws from NumPy's global generator and leaves the given one alone.

Source (direct): deepmodeling/deepmd-kit#1030
"""
import numpy as np


def dot_product_std(d_k, n_samples, rng):
    q = np.random.randn(n_samples, d_k)
    k = np.random.randn(n_samples, d_k)
    return (q * k).sum(axis=1).std()
