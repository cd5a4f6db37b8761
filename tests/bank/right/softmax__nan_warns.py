"""Correct but unusual: the same without silence: NumPy warns, and the result is right.
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    dtype = x.dtype if x.dtype.kind == "f" else np.float64
    work = x.astype(np.promote_types(dtype, np.float32))
    e = np.exp(work - work.max(axis=axis, keepdims=True))
    weights = e / e.sum(axis=axis, keepdims=True)
    weights[np.isnan(weights)] = 0.0
    return weights.astype(dtype)
