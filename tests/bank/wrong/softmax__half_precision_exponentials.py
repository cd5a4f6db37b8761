"""Misconception: takes float16 exponentials and widens only the sum.

Source (analogue): tensorflow/models#7205 (which parts of the softmax are still float16)
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    top = x.max(axis=axis, keepdims=True)
    e = np.exp(x - np.where(np.isneginf(top), 0, top).astype(x.dtype))
    total = e.sum(axis=axis, keepdims=True, dtype=np.promote_types(x.dtype, np.float32))
    return np.divide(e, total, out=np.zeros_like(total + e), where=total > 0).astype(x.dtype)
