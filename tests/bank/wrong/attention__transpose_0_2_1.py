"""Misconception: names the axes of a stack of one leading axis; a single table has no axis 2.

Source (direct): rasbt/LLMs-from-scratch#521
"""
import numpy as np


def attention(Q, K, V, scale=None):
    if scale is None:
        scale = 1 / np.sqrt(Q.shape[-1])
    scores = Q @ K.transpose(0, 2, 1) * scale
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = e / e.sum(axis=-1, keepdims=True)
    return weights @ V, weights
