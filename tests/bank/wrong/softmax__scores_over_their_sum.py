"""Misconception: divides the scores by their sum, without an exponential.
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    work = x.astype(np.promote_types(x.dtype, np.float32))
    work = np.where(np.isneginf(work), 0.0, work)
    total = work.sum(axis=axis, keepdims=True)
    return np.divide(work, total, out=np.zeros_like(work), where=total != 0).astype(x.dtype)
