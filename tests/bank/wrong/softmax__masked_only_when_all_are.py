"""Misconception: looks for the masked case in the whole table: one masked row among others gives NaN.

Source (analogue): pytorch/pytorch#25110
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    work = x.astype(np.promote_types(x.dtype, np.float32))
    if np.isneginf(work).all():
        return np.zeros_like(x)
    e = np.exp(work - work.max(axis=axis, keepdims=True))
    return (e / e.sum(axis=axis, keepdims=True)).astype(x.dtype)
