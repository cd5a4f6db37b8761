"""Misconception: reshapes K to (d_k, S_k) where it should be transposed.

Source (analogue): leaderj1001/Attention-Augmented-Conv2d#21
"""
import numpy as np


def attention(Q, K, V, scale=None):
    if scale is None:
        scale = 1 / np.sqrt(Q.shape[-1])
    scores = Q @ K.reshape(K.shape[:-2] + (K.shape[-1], K.shape[-2])) * scale
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = e / e.sum(axis=-1, keepdims=True)
    return weights @ V, weights
