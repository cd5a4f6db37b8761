"""Misconception: subtracts the largest absolute value: rows far below zero underflow.
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    work = x.astype(np.promote_types(x.dtype, np.float32))
    top = np.where(np.isneginf(work), 0.0, np.abs(work)).max(axis=axis, keepdims=True)
    e = np.exp(work - top.astype(work.dtype))
    total = e.sum(axis=axis, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0).astype(x.dtype)
