"""Misconception: gives the whole 1 to the largest score.
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    work = x.astype(np.promote_types(x.dtype, np.float32))
    best = (work == work.max(axis=axis, keepdims=True)) & ~np.isneginf(work)
    e = best.astype(work.dtype)
    total = e.sum(axis=axis, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0).astype(x.dtype)
