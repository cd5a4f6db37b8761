"""Misconception: writes the weights into np.zeros_like of the integer scores.

Source (analogue): a question-and-answer thread on np.zeros_like(scores)
"""
import numpy as np


def attention(Q, K, V, scale=None):
    if scale is None:
        scale = 1 / np.sqrt(Q.shape[-1])
    raw = Q @ np.swapaxes(K, -1, -2)
    weights = np.zeros_like(raw)
    e = np.exp(raw * scale - (raw * scale).max(axis=-1, keepdims=True))
    weights[...] = e / e.sum(axis=-1, keepdims=True)
    return weights @ V, weights
