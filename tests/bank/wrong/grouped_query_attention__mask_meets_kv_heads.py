"""Misconception: with an axis for the groups the scores have five axes, and a mask for each item meets the key/value heads.

Source (direct): ml-explore/mlx-lm#1903
"""
import numpy as np


def attend(q, k, v, scale, keep):
    s = np.einsum("...qd,...kd->...qk", q, k) * scale
    if keep is not None:
        s = np.where(keep, s, -np.inf)
    m = s.max(-1, keepdims=True)
    e = np.exp(s - np.where(np.isfinite(m), m, 0))
    z = e.sum(-1, keepdims=True)
    return (e / np.where(z > 0, z, 1)) @ v


def grouped_query_attention(x, Wq, Wk, Wv, Wo, n_heads, n_kv_heads, mask=None):
    B, S, C = x.shape
    d = C // n_heads
    g = n_heads // n_kv_heads
    q = (x @ Wq).reshape(B, S, n_kv_heads, g, d).transpose(0, 2, 3, 1, 4)
    k = (x @ Wk).reshape(B, S, n_kv_heads, 1, d).transpose(0, 2, 3, 1, 4)
    v = (x @ Wv).reshape(B, S, n_kv_heads, 1, d).transpose(0, 2, 3, 1, 4)
    if mask is not None and mask.ndim == 3:
        mask = mask[:, None]
    elif mask is not None and mask.ndim == 4:
        mask = mask.reshape(B, n_kv_heads, g, S, S)
    y = attend(q, k, v, d ** -0.5, mask)
    return y.transpose(0, 3, 1, 2, 4).reshape(B, S, C) @ Wo
