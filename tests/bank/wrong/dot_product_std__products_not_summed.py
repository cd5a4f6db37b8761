"""Misconception: measures the products of single components.

Source (analogue): alecwangcq/show-attend-and-tell#6 (sum along the wrong dimension)
"""
import numpy as np


def dot_product_std(d_k, n_samples, rng):
    q = rng.standard_normal((n_samples, d_k))
    k = rng.standard_normal((n_samples, d_k))
    return (q * k).std()
