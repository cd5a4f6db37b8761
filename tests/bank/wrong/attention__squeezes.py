"""Misconception: squeeze() drops a query axis of length 1.

Source (direct): allenai/allennlp#3599
"""
import numpy as np


def attention(Q, K, V, scale=None):
    if scale is None:
        scale = 1 / np.sqrt(Q.shape[-1])
    scores = Q @ np.swapaxes(K, -1, -2) * scale
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = e / e.sum(axis=-1, keepdims=True)
    return np.squeeze(weights @ V), np.squeeze(weights)
