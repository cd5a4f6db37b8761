"""Misconception: transposes the weights before they meet the values.

Source (direct): Open-Deep-ML/DML-OpenProblem#424; lzw-all-in/anime_person_translation#3
"""
import numpy as np


def attention(Q, K, V, scale=None):
    if scale is None:
        scale = 1 / np.sqrt(Q.shape[-1])
    scores = Q @ np.swapaxes(K, -1, -2) * scale
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = e / e.sum(axis=-1, keepdims=True)
    return np.swapaxes(weights, -1, -2) @ V, weights
