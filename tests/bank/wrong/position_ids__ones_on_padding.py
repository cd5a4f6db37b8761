"""Misconception: padding is filled with 1, as a well-known library does it.

Source (direct): unslothai/unsloth#3795
"""
import numpy as np


def position_ids(lengths, k_len, side="right"):
    lengths = np.asarray(lengths)
    mask = np.zeros((len(lengths), k_len), dtype=np.int64)
    for b, n in enumerate(lengths):
        if side == "left":
            mask[b, k_len - n:] = 1
        else:
            mask[b, :n] = 1
    ids = np.cumsum(mask, axis=-1) - 1
    ids[mask == 0] = 1
    return ids
