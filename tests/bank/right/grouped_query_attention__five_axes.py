"""Correct but unusual: an axis for the groups, no copies of keys and values.
"""
import numpy as np


def grouped_query_attention(x, Wq, Wk, Wv, Wo, n_heads, n_kv_heads, mask=None):
    B, S, C = x.shape
    d, g = C // n_heads, n_heads // n_kv_heads
    q = (x @ Wq).reshape(B, S, n_kv_heads, g, d)
    k, v = ((x @ W).reshape(B, S, n_kv_heads, d) for W in (Wk, Wv))
    s = np.einsum("bqngd,bknd->bngqk", q, k) / d ** 0.5
    if mask is not None:
        full = mask[:, None] if mask.ndim == 3 else mask
        full = np.broadcast_to(full, (B, n_heads, S, S)).reshape(B, n_kv_heads, g, S, S)
        s = np.where(full, s, -np.inf)
    top = np.maximum(s.max(-1, keepdims=True), np.finfo(float).min)
    e = np.exp(s - top)
    p = e / np.maximum(e.sum(-1, keepdims=True), 1e-300)
    return np.einsum("bngqk,bknd->bqngd", p, v).reshape(B, S, C) @ Wo
