"""Misconception: the softmax runs over the flattened table.

Source (direct): gjylt/DoubleAttentionNet#3
"""
import numpy as np


def attention(Q, K, V, scale=None):
    scale = 1 / np.sqrt(Q.shape[-1]) if scale is None else scale
    scores = Q @ np.swapaxes(K, -1, -2) * scale
    e = np.exp(scores - scores.max())
    weights = e / e.sum()
    return weights @ V, weights
