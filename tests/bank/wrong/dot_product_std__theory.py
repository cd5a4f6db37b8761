"""Misconception: returns the formula and measures nothing.

Source (by construction): the answer that the lesson derives
"""
import numpy as np


def dot_product_std(d_k, n_samples, rng):
    return np.sqrt(d_k)
