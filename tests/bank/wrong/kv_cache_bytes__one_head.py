"""Misconception: the head factor is missing; the width of one head stands for all.

Source (direct): rohitg00/ai-engineering-from-scratch#57
"""


def kv_cache_bytes(seq_len, n_layers, n_kv_heads, d_head, bytes_per_element=2):
    per_token = 2 * d_head * bytes_per_element
    return seq_len * n_layers * per_token
