"""Misconception: d_k = Q.shape[1], right for a table, the number of queries in a stack.

Source (analogue): pytorch/pytorch#95259
"""
import numpy as np


def attention(Q, K, V, scale=None):
    if scale is None:
        scale = 1 / np.sqrt(Q.shape[1])
    scores = Q @ np.swapaxes(K, -1, -2) * scale
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = e / e.sum(axis=-1, keepdims=True)
    return weights @ V, weights
