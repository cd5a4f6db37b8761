"""Misconception: Q *= scale changes the caller's array.

Source (analogue): hao-ai-lab/FastVideo#1457
"""
import numpy as np


def attention(Q, K, V, scale=None):
    if scale is None:
        scale = 1 / np.sqrt(Q.shape[-1])
    Q *= scale
    scores = Q @ np.swapaxes(K, -1, -2)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = e / e.sum(axis=-1, keepdims=True)
    return weights @ V, weights
