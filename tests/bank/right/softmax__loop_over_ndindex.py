"""Correct but unusual: plain loops over every row, written into a buffer of its own.
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.moveaxis(np.asarray(scores), axis, -1)
    dtype = x.dtype if x.dtype.kind == "f" else np.dtype(np.float64)
    out = np.zeros(x.shape, dtype)
    for index in np.ndindex(x.shape[:-1]):
        row = [float(value) for value in x[index]]
        top = max(row)
        if top != -np.inf:
            e = [np.exp(value - top) for value in row]
            out[index] = [value / sum(e) for value in e]
    return np.moveaxis(out, -1, axis)
