"""Misconception: running sum minus one, and the padding left as it falls: -1 before the text,
the last position behind it.

Source (analogue): unslothai/unsloth#3803
"""
import numpy as np


def position_ids(lengths, k_len, side="right"):
    ids = np.zeros((len(lengths), k_len), dtype=int)
    for row, n in zip(ids, lengths):
        if side == "right":
            row[:n] = 1
        else:
            row[k_len - n:] = 1
    return ids.cumsum(axis=1) - 1
