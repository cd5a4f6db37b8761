"""Correct but unusual: np.clip and a product with the mask; unsigned integers.
"""
import numpy as np


def position_ids(lengths, k_len, side="right"):
    n = np.asarray(lengths, dtype=np.int64).reshape(-1, 1)
    place = np.arange(k_len) - (k_len - n) * (side == "left")
    return (np.clip(place, 0, None) * (place < n)).astype(np.uint32)
