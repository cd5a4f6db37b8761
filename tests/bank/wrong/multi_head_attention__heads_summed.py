"""Misconception: adds the heads up instead of setting them side by side.

Source (direct): awf/functional-transformer#8
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


def multi_head_attention(x, Wq, Wk, Wv, Wo, n_heads, mask=None):
    B, S, C = x.shape
    d = C // n_heads
    keep = mask[:, None] if mask is not None and mask.ndim == 3 else mask
    def heads(W):
        return (x @ W).reshape(B, S, n_heads, d).transpose(0, 2, 1, 3)
    y = attend(heads(Wq), heads(Wk), heads(Wv), d ** -0.5, keep)
    total = 0
    for h in range(n_heads):
        total = total + y[:, h]
    return total @ Wo[:d]
