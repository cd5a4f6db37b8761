"""Misconception: adds up over the samples.

Source (analogue): alecwangcq/show-attend-and-tell#6 (sum along the wrong dimension)
"""
import numpy as np


def dot_product_std(d_k, n_samples, rng):
    q = rng.standard_normal((n_samples, d_k))
    k = rng.standard_normal((n_samples, d_k))
    dots = np.einsum("nd,nd->d", q, k)
    return dots.std()
