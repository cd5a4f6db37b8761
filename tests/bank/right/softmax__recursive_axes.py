"""Correct but unusual: does the last axis only, and calls itself on the swapped array for the others.
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    if axis not in (-1, x.ndim - 1):
        return np.swapaxes(softmax(np.swapaxes(x, axis, -1)), axis, -1)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    top = x.astype(np.float64).max(axis=-1)[..., None]
    e = np.exp(x - np.where(top > -np.inf, top, 0.0))
    total = np.einsum("...s->...", e)[..., None]
    return (e / (total + (total == 0))).astype(x.dtype)
