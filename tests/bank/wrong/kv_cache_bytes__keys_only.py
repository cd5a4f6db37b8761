"""Misconception: one table a head, no factor 2 for keys and values.

Source (analogue): rohitg00/ai-engineering-from-scratch#57 (factors of the cache left out)
"""
import math


def kv_cache_bytes(seq_len, n_layers, n_kv_heads, d_head, bytes_per_element=2):
    return math.prod((n_layers, seq_len, n_kv_heads * d_head, bytes_per_element))
