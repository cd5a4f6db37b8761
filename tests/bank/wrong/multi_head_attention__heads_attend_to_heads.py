"""Misconception: never moves the heads in front of the tokens, so each token's heads look at each other.

Source (analogue): HabanaAI/vllm-fork#1218 (the transpose went missing)
"""
import numpy as np


def multi_head_attention(x, Wq, Wk, Wv, Wo, n_heads, mask=None):
    B, S, C = x.shape
    d = C // n_heads
    q, k, v = ((x @ W).reshape(B, S, n_heads, d) for W in (Wq, Wk, Wv))
    s = q @ k.swapaxes(-2, -1) / np.sqrt(d)
    if mask is not None:
        if mask.ndim == 3:
            mask = mask[:, None]
        s = np.where(mask, s, -1e9)
    e = np.exp(s - s.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True) @ v).reshape(B, S, C) @ Wo
