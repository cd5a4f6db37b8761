"""Correct but unusual: lets the NaN of a masked row happen, silenced, and turns it into zeros afterwards.
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    dtype = x.dtype if x.dtype.kind == "f" else np.float64
    work = x.astype(np.promote_types(dtype, np.float32))
    with np.errstate(invalid="ignore"):
        e = np.exp(work - work.max(axis=axis, keepdims=True))
        weights = e / e.sum(axis=axis, keepdims=True)
    return np.nan_to_num(weights, nan=0.0).astype(dtype)
