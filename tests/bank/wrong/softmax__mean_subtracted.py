"""Misconception: subtracts the mean of the allowed scores: one score far above the mean still overflows.

Source (analogue): uxlfoundation/oneDNN#30 (advice to normalise with the mean)
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    work = x.astype(np.promote_types(x.dtype, np.float32))
    allowed = ~np.isneginf(work)
    count = np.maximum(allowed.sum(axis=axis, keepdims=True), 1)
    mean = np.where(allowed, work, 0.0).sum(axis=axis, keepdims=True) / count
    e = np.exp(work - mean.astype(work.dtype))
    total = e.sum(axis=axis, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0).astype(x.dtype)
