"""Correct but unusual: a function of one row, applied along the axis.
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)

    def one(row):
        if np.isneginf(row).all():
            return np.zeros(row.shape)
        e = np.exp(row.astype(np.float64) - row.max().astype(np.float64))
        return e / e.sum()

    return np.apply_along_axis(one, axis, x).astype(x.dtype)
