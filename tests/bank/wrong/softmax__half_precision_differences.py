"""Misconception: subtracts the maximum in float16 and widens only then.

Source (analogue): tensorflow/models#7205 (input and maximum stay float16)
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    top = x.max(axis=axis, keepdims=True)
    shifted = x - np.where(np.isneginf(top), 0, top).astype(x.dtype)
    e = np.exp(shifted.astype(np.promote_types(x.dtype, np.float32)))
    total = e.sum(axis=axis, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0).astype(x.dtype)
