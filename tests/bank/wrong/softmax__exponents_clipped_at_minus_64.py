"""Misconception: cuts exponents off at −64 so that no weight is 0: a score of −inf gets weight too.

Source (direct): PaddlePaddle/Paddle#4366
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    work = x.astype(np.promote_types(x.dtype, np.float32))
    top = work.max(axis=axis, keepdims=True)
    top = np.where(np.isneginf(top), 0.0, top).astype(work.dtype)
    e = np.exp(np.maximum(work - top, -64.0))
    e = np.where(np.isneginf(work).all(axis=axis, keepdims=True), 0.0, e)
    total = e.sum(axis=axis, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0).astype(x.dtype)
