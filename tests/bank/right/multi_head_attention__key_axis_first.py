"""Correct but unusual: scores stored as (B, H, S_k, S_q), softmax along axis -2, exp2 instead of exp.
"""
import numpy as np


def multi_head_attention(x, Wq, Wk, Wv, Wo, n_heads, mask=None):
    b, s, m = x.shape
    q, k, v = ((x @ w).reshape(b, s, n_heads, -1) for w in (Wq, Wk, Wv))
    t = np.einsum("bihd,bjhd->bhji", q, k) * (np.log2(np.e) / np.sqrt(m // n_heads))
    if mask is not None:
        keep = np.expand_dims(mask, 1) if np.ndim(mask) == 3 else mask
        keep = np.swapaxes(np.broadcast_to(keep, (b, n_heads, s, s)), 2, 3)
    else:
        keep = np.full(t.shape, True)
    t = np.ma.masked_array(t, ~keep)
    e = np.where(keep, np.exp2(np.minimum(t.data - t.max(axis=-2, keepdims=True).filled(0.0), 0.0)), 0.0)
    z = e.sum(axis=-2, keepdims=True)
    p = np.divide(e, z, out=np.zeros_like(e), where=z != 0)
    return np.tensordot(np.einsum("bhji,bjhd->bihd", p, v).reshape(b, s, m), Wo, axes=1)
