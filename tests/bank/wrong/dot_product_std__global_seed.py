"""Misconception: seeds the global generator and draws from it.

Source (direct): deepmodeling/deepmd-kit#1030
"""
import numpy as np


def dot_product_std(d_k, n_samples, rng):
    np.random.seed(0)
    q = np.random.randn(n_samples, d_k)
    k = np.random.randn(n_samples, d_k)
    return (q * k).sum(axis=1).std()
