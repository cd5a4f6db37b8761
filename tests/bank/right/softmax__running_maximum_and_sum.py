"""Correct but unusual: one pass over the axis with a running maximum and a running sum.

Source (direct): M. Milakov and N. Gimelshein, 2018, arXiv:1805.02867
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.moveaxis(np.asarray(scores), axis, -1)
    dtype = x.dtype if x.dtype.kind == "f" else np.dtype(np.float64)
    work = x.astype(np.float64)
    top, total = np.full(x.shape[:-1], -np.inf), np.zeros(x.shape[:-1])
    for index in range(x.shape[-1]):
        higher = np.maximum(top, work[..., index])
        safe = np.where(np.isneginf(higher), 0.0, higher)
        total = total * np.exp(top - safe) + np.exp(work[..., index] - safe)
        top = higher
    safe = np.where(np.isneginf(top), 0.0, top)[..., None]
    weights = np.exp(work - safe) / np.where(total == 0, 1.0, total)[..., None]
    return np.moveaxis(weights, -1, axis).astype(dtype)
