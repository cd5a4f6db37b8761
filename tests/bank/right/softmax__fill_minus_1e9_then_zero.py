"""Correct but unusual: −1e9 for −inf, and the rows that hold nothing else set to zero.
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    hidden = np.isneginf(x)
    work = np.where(hidden, -1e9, x.astype(np.float64))
    e = np.exp(work - work.max(axis=axis, keepdims=True))
    weights = e / e.sum(axis=axis, keepdims=True)
    return (weights * ~hidden.all(axis=axis, keepdims=True)).astype(x.dtype)
