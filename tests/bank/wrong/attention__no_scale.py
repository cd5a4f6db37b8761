"""Misconception: the default is no scale at all.

Source (direct): PAIR-code/tiny-transformers#71
"""
import numpy as np


def attention(Q, K, V, scale=None):
    if scale is None:
        scale = 1.0
    scores = Q @ np.swapaxes(K, -1, -2) * scale
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = e / e.sum(axis=-1, keepdims=True)
    return weights @ V, weights
