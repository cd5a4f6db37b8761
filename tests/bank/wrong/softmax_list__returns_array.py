"""Misconception: returns a NumPy array instead of a list.
"""
import numpy as np


def softmax_list(row):
    x = np.array(row)
    top = x.max()
    if np.isneginf(top):
        return np.zeros(len(row))
    e = np.exp(x - top)
    return e / e.sum()
