"""Misconception: the cache of one layer for the whole model.

Source (direct): mudler/vllm.cpp#357
"""


def kv_cache_bytes(seq_len, n_layers, n_kv_heads, d_head, bytes_per_element=2):
    keys = seq_len * n_kv_heads * d_head
    values = seq_len * n_kv_heads * d_head
    return (keys + values) * bytes_per_element
