"""Misconception: subtracts the first score of the row instead of the largest: any one number may be
subtracted, but not any one keeps exp from overflowing.

Source (direct): ROCm/AMDMIGraphX#1290 (review)
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    work = x.astype(np.promote_types(x.dtype, np.float32))
    first = np.take(work, [0], axis=axis)
    e = np.exp(work - np.where(np.isneginf(first), 0.0, first).astype(work.dtype))
    total = e.sum(axis=axis, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0).astype(x.dtype)
