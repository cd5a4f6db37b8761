"""Misconception: row[-n:] is the whole row for n = 0.
"""
import numpy as np


def position_ids(lengths, k_len, side="right"):
    out = np.zeros((len(lengths), k_len), dtype=int)
    for i, n in enumerate(lengths):
        if side == "right":
            out[i, :n] = range(n)
        else:
            out[i, -n:] = range(n)
    return out
