"""Misconception: divides every row by the sum of the whole table.

Source (direct): rickwierenga/MLFundamentals#1
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
    total = e.sum()
    return (e / (total if total else 1.0)).astype(x.dtype)
