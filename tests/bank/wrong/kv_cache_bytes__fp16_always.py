"""Misconception: two bytes a number whatever the caller says.

Source (direct): jranaraki/vllm-fit#2 (a constant where the size of a number belongs)
"""


def kv_cache_bytes(seq_len, n_layers, n_kv_heads, d_head, bytes_per_element=2):
    return 2 * 2 * seq_len * n_layers * n_kv_heads * d_head
