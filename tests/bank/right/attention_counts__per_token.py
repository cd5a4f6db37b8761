"""Correct but unusual: counts what one token costs, then all tokens, in 64-bit NumPy integers.
"""
import numpy as np


def attention_counts(seq_len, d_model, n_heads, bytes_per_element=4):
    one_token = np.array([2 * seq_len * d_model, 2 * seq_len * d_model, 8 * d_model * d_model], dtype=np.int64)
    qk, pv, proj = seq_len * one_token
    total = (seq_len * one_token).sum()
    per_head = np.int64(seq_len) * seq_len
    return dict(zip(("qk_flops", "pv_flops", "projection_flops", "total_flops", "scores_bytes"),
                    (qk, pv, proj, total, n_heads * per_head * bytes_per_element)))
