"""Misconception: the softmax of a row that is -inf throughout gives NaN.

"""
import numpy as np


def multi_head_attention(x, Wq, Wk, Wv, Wo, n_heads, mask=None):
    B, S, C = x.shape
    d = C // n_heads
    q, k, v = ((x @ W).reshape(B, S, n_heads, d).transpose(0, 2, 1, 3) for W in (Wq, Wk, Wv))
    s = q @ k.transpose(0, 1, 3, 2) / d ** 0.5
    if mask is not None:
        s = s + np.where(mask[:, None] if mask.ndim == 3 else mask, 0.0, -np.inf)
    s = s - s.max(axis=-1, keepdims=True)
    p = np.exp(s)
    p /= p.sum(axis=-1, keepdims=True)
    return (p @ v).transpose(0, 2, 1, 3).reshape(B, S, C) @ Wo
