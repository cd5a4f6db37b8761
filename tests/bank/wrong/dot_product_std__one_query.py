"""Misconception: one query for all keys.

Source (by construction): the draw stands outside of the loop
"""
import numpy as np


def dot_product_std(d_k, n_samples, rng):
    q = rng.standard_normal(d_k)
    dots = []
    for _ in range(n_samples):
        dots.append(np.dot(q, rng.standard_normal(d_k)))
    return np.std(dots)
