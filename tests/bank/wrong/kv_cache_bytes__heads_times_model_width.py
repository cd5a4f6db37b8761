"""Misconception: an extra factor of heads, as if a head were as wide as all of them.

Source (direct): jranaraki/vllm-fit#2
"""


def kv_cache_bytes(seq_len, n_layers, n_kv_heads, d_head, bytes_per_element=2):
    hidden = n_kv_heads * d_head
    return 2 * n_layers * n_kv_heads * hidden * seq_len * bytes_per_element
