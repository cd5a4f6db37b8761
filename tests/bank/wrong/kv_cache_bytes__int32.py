"""Misconception: multiplies in 32-bit integers, which end at 2**31.

Source (direct): 1bit-MONSTER/1bit-MONSTER#974
"""
import numpy as np


def kv_cache_bytes(seq_len, n_layers, n_kv_heads, d_head, bytes_per_element=2):
    sizes = np.array([2, seq_len, n_layers, n_kv_heads, d_head, bytes_per_element], dtype=np.int32)
    return int(np.multiply.reduce(sizes, dtype=np.int32))
