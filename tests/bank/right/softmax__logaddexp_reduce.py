"""Correct but unusual: the sum of exponentials without a maximum in sight: NumPy's logaddexp, reduced.
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    work = x.astype(np.float64)
    lse = np.logaddexp.reduce(work, axis=axis, keepdims=True)
    return np.exp(work - np.where(np.isneginf(lse), 0.0, lse)).astype(x.dtype)
