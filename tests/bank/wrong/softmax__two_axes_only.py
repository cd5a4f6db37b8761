"""Misconception: treats everything with more than two axes as a stack of rows of its last two.
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    work = x.astype(np.promote_types(x.dtype, np.float32))
    around = (-2, -1) if x.ndim > 2 else axis
    top = work.max(axis=around, keepdims=True)
    e = np.exp(work - np.where(np.isneginf(top), 0.0, top).astype(work.dtype))
    total = e.sum(axis=around, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0).astype(x.dtype)
