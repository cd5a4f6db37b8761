"""Misconception: moves the axis to the end to work there, and leaves it there.
"""
import numpy as np


def softmax(scores, axis=-1):
    scores = np.moveaxis(np.asarray(scores), axis, -1)
    axis = -1
    x = np.asarray(scores)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    work = x.astype(np.promote_types(x.dtype, np.float32))
    top = work.max(axis=axis, keepdims=True)
    top = np.where(np.isneginf(top), 0.0, top).astype(work.dtype)
    e = np.exp(work - top)
    total = e.sum(axis=axis, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0).astype(x.dtype)
