"""Misconception: lets exp overflow and shares the 1 among the scores that became inf.

Source (direct): open-edge-platform/geti#1507
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    work = x.astype(np.promote_types(x.dtype, np.float32))
    with np.errstate(over="ignore"):
        e = np.exp(work)
    over = np.isinf(e)
    e = np.where(over.any(axis=axis, keepdims=True), over.astype(work.dtype), e)
    total = e.sum(axis=axis, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0).astype(x.dtype)
