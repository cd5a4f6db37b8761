"""Misconception: normalises down the columns of the table.

Source (direct): labmlai/annotated_deep_learning_paper_implementations#282; nerminnuraydogan/vision-transformer#1
"""
import numpy as np


def attention(Q, K, V, scale=None):
    if scale is None:
        scale = 1 / np.sqrt(Q.shape[-1])
    scores = Q @ np.swapaxes(K, -1, -2) * scale
    e = np.exp(scores - scores.max(axis=-2, keepdims=True))
    weights = e / e.sum(axis=-2, keepdims=True)
    return weights @ V, weights
