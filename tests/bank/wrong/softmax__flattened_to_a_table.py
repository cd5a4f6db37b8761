"""Misconception: works on a table of rows and forgets to restore the other axes.
"""
import numpy as np


def softmax(scores, axis=-1):
    scores = np.moveaxis(np.asarray(scores), axis, -1)
    if scores.ndim > 2:
        scores = scores.reshape(-1, scores.shape[-1])
    moved, axis = axis, -1
    x = np.asarray(scores)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    work = x.astype(np.promote_types(x.dtype, np.float32))
    top = work.max(axis=axis, keepdims=True)
    top = np.where(np.isneginf(top), 0.0, top).astype(work.dtype)
    e = np.exp(work - top)
    total = e.sum(axis=axis, keepdims=True)
    weights = np.divide(e, total, out=np.zeros_like(e), where=total > 0).astype(x.dtype)
    return np.moveaxis(weights, -1, moved) if np.ndim(weights) <= 2 and moved in (0, 1, -1, -2) else weights
