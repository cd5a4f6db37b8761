"""Correct but unusual: power of e instead of exp, and a result in Fortran order.
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    work = x.astype(np.promote_types(x.dtype, np.float32))
    top = work.max(axis=axis, keepdims=True)
    top = np.where(np.isneginf(top), 0.0, top).astype(work.dtype)
    e = np.power(np.e, (work - top).astype(np.float64))
    total = e.sum(axis=axis, keepdims=True)
    return np.asfortranarray(e / np.where(total > 0, total, 1.0)).astype(x.dtype)
