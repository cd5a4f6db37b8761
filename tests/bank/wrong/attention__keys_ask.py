"""Misconception: K Qᵀ: a row for each key.

Source (analogue): mila-iqia/blocks#744 (the order of axes of the weights)
"""
import numpy as np


def attention(Q, K, V, scale=None):
    if scale is None:
        scale = 1 / np.sqrt(Q.shape[-1])
    scores = K @ np.swapaxes(Q, -1, -2) * scale
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = e / e.sum(axis=-1, keepdims=True)
    return weights @ V, weights
