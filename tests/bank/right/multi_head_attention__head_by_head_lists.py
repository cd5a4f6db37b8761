"""Correct but unusual: one head of one item at a time, with slices of the matrices; a finite fill and zeros afterwards.
"""
import numpy as np


def multi_head_attention(x, Wq, Wk, Wv, Wo, n_heads, mask=None):
    B, S, D = x.shape
    d = D // n_heads
    result = []
    for b in range(B):
        row = []
        for h in range(n_heads):
            cols = slice(h * d, h * d + d)
            q, k, v = x[b] @ Wq[:, cols], x[b] @ Wk[:, cols], x[b] @ Wv[:, cols]
            score = q @ k.T / np.sqrt(d)
            if mask is None:
                may = np.ones((S, S), dtype=bool)
            else:
                may = mask if mask.ndim == 2 else mask[b] if mask.ndim == 3 else mask[b, h]
                may = np.broadcast_to(may, (S, S))
            score = np.where(may, score, -1e9)
            p = np.exp(score - score.max(axis=1, keepdims=True))
            p = p / p.sum(axis=1, keepdims=True) * may
            row.append(p @ v)
        result.append(np.hstack(row) @ Wo)
    return np.stack(result)
