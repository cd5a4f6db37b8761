"""Correct but unusual: NumPy inside, a list of its own floats outside.
"""
import numpy as np


def softmax_list(row):
    x = np.array(row)
    if np.isneginf(x).all():
        return [0.0 for _ in row]
    e = np.exp(x - x.max())
    return list(e / e.sum())
