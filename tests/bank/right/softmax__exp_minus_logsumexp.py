"""Correct but unusual: exp of the score minus the logarithm of the sum of exponentials.
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    work = x.astype(np.float64)
    top = work.max(axis=axis, keepdims=True)
    top = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore"):
        lse = np.log(np.exp(work - top).sum(axis=axis, keepdims=True)) + top
    return np.exp(work - np.where(np.isneginf(lse), 0.0, lse)).astype(x.dtype)
