"""Misconception: places of the array, set to 0 on padding: with padding on the left the text
begins late.

Source (analogue): ndif-team/nnsight#673
"""
import numpy as np


def position_ids(lengths, k_len, side="right"):
    lengths = np.asarray(lengths)[:, None]
    place = np.arange(k_len)
    real = place < lengths if side == "right" else place >= k_len - lengths
    return place * real
