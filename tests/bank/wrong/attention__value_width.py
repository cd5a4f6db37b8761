"""Misconception: the width under the root is that of the values.

Source (direct): juho-lee/set_transformer#18
"""
import numpy as np


def attention(Q, K, V, scale=None):
    if scale is None:
        scale = V.shape[-1] ** -0.5
    scores = Q @ np.swapaxes(K, -1, -2) * scale
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = e / e.sum(axis=-1, keepdims=True)
    return weights @ V, weights
