"""Correct but unusual: maximum, exponential and division each restricted with where=.
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    work = x.astype(np.promote_types(x.dtype, np.float32))
    allowed = np.isfinite(work)
    lowest = np.finfo(work.dtype).min
    top = np.max(work, axis=axis, keepdims=True, where=allowed, initial=lowest)
    e = np.exp(np.subtract(work, top, where=allowed, out=np.zeros_like(work)), where=allowed, out=np.zeros_like(work))
    total = np.sum(e, axis=axis, keepdims=True, where=allowed)
    return np.divide(e, total, where=allowed, out=np.zeros_like(e)).astype(x.dtype)
