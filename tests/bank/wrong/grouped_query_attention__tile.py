"""Misconception: tiles the key/value heads 0, 1, 0, 1 instead of repeating each.

Source (direct): onnx/onnx#7274
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
    q = (x @ Wq).reshape(B, S, n_heads, d).swapaxes(1, 2)
    k = (x @ Wk).reshape(B, S, n_kv_heads, d).swapaxes(1, 2)
    v = (x @ Wv).reshape(B, S, n_kv_heads, d).swapaxes(1, 2)
    k = np.concatenate([k] * (n_heads // n_kv_heads), axis=1)
    v = np.concatenate([v] * (n_heads // n_kv_heads), axis=1)
    keep = mask[:, None] if mask is not None and mask.ndim == 3 else mask
    return attend(q, k, v, d ** -0.5, keep).swapaxes(1, 2).reshape(B, S, C) @ Wo
