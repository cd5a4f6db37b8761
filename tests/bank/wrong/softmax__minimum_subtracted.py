"""Misconception: subtracts the smallest score: the largest exponent is as large as the row is wide.
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    work = x.astype(np.promote_types(x.dtype, np.float32))
    low = np.where(np.isneginf(work), np.inf, work).min(axis=axis, keepdims=True)
    e = np.exp(work - np.where(np.isinf(low), 0.0, low).astype(work.dtype))
    total = e.sum(axis=axis, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0).astype(x.dtype)
