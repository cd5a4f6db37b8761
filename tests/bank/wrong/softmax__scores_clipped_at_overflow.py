"""Misconception: clips the scores just below where exp overflows instead of subtracting the maximum.

Source (analogue): ROCm/AMDMIGraphX#1290 (review: around 88 exp leaves float)
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    work = x.astype(np.promote_types(x.dtype, np.float32))
    e = np.exp(np.minimum(work, 88.0 if work.dtype == np.float32 else 709.0))
    total = e.sum(axis=axis, keepdims=True)
    with np.errstate(over="ignore"):
        weights = np.divide(e, total, out=np.zeros_like(e), where=total > 0)
    return weights.astype(x.dtype)
