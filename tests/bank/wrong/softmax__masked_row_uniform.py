"""Misconception: gives a row without any allowed score equal weights instead of zeros.

Source (direct): pytorch/pytorch#131060 (the first of its two options)
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    work = x.astype(np.promote_types(x.dtype, np.float32))
    top = work.max(axis=axis, keepdims=True)
    top = np.where(np.isneginf(top), 0.0, top).astype(work.dtype)
    e = np.exp(work - top)
    total = e.sum(axis=axis, keepdims=True)
    share = 1.0 / x.shape[axis]
    return np.where(total > 0, e / np.where(total > 0, total, 1.0), share).astype(x.dtype)
