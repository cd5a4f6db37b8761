"""Misconception: `scale or default` takes 0.0 for none.

Source (analogue): SKaiNET-developers/SKaiNET#860 (0 and "not given" confused)
"""
import numpy as np


def attention(Q, K, V, scale=None):
    scale = scale or Q.shape[-1] ** -0.5
    scores = Q @ np.swapaxes(K, -1, -2) * scale
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = e / e.sum(axis=-1, keepdims=True)
    return weights @ V, weights
