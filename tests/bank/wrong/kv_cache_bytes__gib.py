"""Misconception: returns GiB where bytes are asked for.

Source: no public issue known; calculators print GiB, and their formula is copied with the division
"""


def kv_cache_bytes(seq_len, n_layers, n_kv_heads, d_head, bytes_per_element=2):
    return 2 * seq_len * n_layers * n_kv_heads * d_head * bytes_per_element / 1024**3
