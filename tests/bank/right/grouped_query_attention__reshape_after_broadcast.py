"""Correct but unusual: broadcasts a new axis behind the key/value heads and reshapes.
"""
import numpy as np


def grouped_query_attention(x, Wq, Wk, Wv, Wo, n_heads, n_kv_heads, mask=None):
    B, S, C = x.shape
    d = C // n_heads
    def split(t, n):
        return np.transpose(np.reshape(t, (B, S, n, d)), (0, 2, 1, 3))
    def expand(t):
        t = split(t, n_kv_heads)[:, :, None]
        return np.broadcast_to(t, (B, n_kv_heads, n_heads // n_kv_heads, S, d)).reshape(B, n_heads, S, d)
    q, k, v = split(np.matmul(x, Wq), n_heads) * d ** -0.5, expand(x @ Wk), expand(x @ Wv)
    s = np.matmul(q, k.transpose(0, 1, 3, 2))
    if mask is not None:
        s = np.where(mask.reshape(B, 1, -1, S) if mask.ndim == 3 else mask, s, -np.inf)
    with np.errstate(invalid="ignore"):
        e = np.exp(s - s.max(axis=-1, keepdims=True))
        w = np.nan_to_num(e / e.sum(axis=-1, keepdims=True))
    return np.concatenate(np.split(np.matmul(w, v), n_heads, axis=1), axis=-1)[:, 0] @ Wo
