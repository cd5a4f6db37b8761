"""Correct but unusual: NumPy inside, lists of NumPy floats outside.
"""
import numpy as np


def attend(query, keys, values):
    q, k, v = np.array(query), np.array(keys), np.array(values)
    s = k @ q / np.sqrt(q.size)
    w = np.exp(s - s.max())
    w /= w.sum()
    return list(w @ v), list(w)
