"""Misconception: softmax along axis 0, whatever stands there.

Source (direct): PetrochukM/PyTorch-NLP#2; jadore801120/attention-is-all-you-need-pytorch#52
"""
import numpy as np


def attention(Q, K, V, scale=None):
    if scale is None:
        scale = 1 / np.sqrt(Q.shape[-1])
    scores = Q @ np.swapaxes(K, -1, -2) * scale
    e = np.exp(scores - scores.max(axis=0, keepdims=True))
    weights = e / e.sum(axis=0, keepdims=True)
    return weights @ V, weights
