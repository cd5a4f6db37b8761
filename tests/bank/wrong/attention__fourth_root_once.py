"""Misconception: divides by the fourth root of d_k, which is right only if done to both Q and K.

Source (analogue): openai/guided-diffusion#38 (asked about there)
"""
import numpy as np


def attention(Q, K, V, scale=None):
    if scale is None:
        scale = 1 / np.sqrt(np.sqrt(Q.shape[-1]))
    scores = Q @ np.swapaxes(K, -1, -2) * scale
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = e / e.sum(axis=-1, keepdims=True)
    return weights @ V, weights
