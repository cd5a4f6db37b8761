"""Misconception: the weights meet K; V is never read.

Source (direct): meta-pytorch/torchtune#21 (k for v); ruvnet/agentic-flow#191
"""
import numpy as np


def attention(Q, K, V, scale=None):
    if scale is None:
        scale = 1 / np.sqrt(Q.shape[-1])
    scores = Q @ np.swapaxes(K, -1, -2) * scale
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = e / e.sum(axis=-1, keepdims=True)
    return weights @ K, weights
