"""Misconception: multiplies by the given scale and divides by the root as well.

Source (direct): llvm/torch-mlir#4419 (review: the root applied inside whatever is given)
"""
import numpy as np


def attention(Q, K, V, scale=None):
    if scale is None:
        scale = 1.0
    scores = Q @ np.swapaxes(K, -1, -2) * scale / np.sqrt(K.shape[-1])
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = e / e.sum(axis=-1, keepdims=True)
    return weights @ V, weights
