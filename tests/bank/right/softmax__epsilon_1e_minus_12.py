"""Correct but unusual: a tiny epsilon in the shifted denominator.
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    work = x.astype(np.promote_types(x.dtype, np.float32))
    top = work.max(axis=axis, keepdims=True)
    top = np.where(np.isneginf(top), 0.0, top).astype(work.dtype)
    e = np.exp(work - top)
    return (e / (e.sum(axis=axis, keepdims=True) + 1e-12)).astype(x.dtype)
