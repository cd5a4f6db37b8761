"""Misconception: the running sum of the mask counts the first token as 1.

Source (analogue): Physical-Intelligence/openpi#762
"""
import numpy as np


def position_ids(lengths, k_len, side="right"):
    lengths = np.asarray(lengths)[:, None]
    place = np.arange(k_len)
    real = place < lengths if side == "right" else place >= k_len - lengths
    return np.cumsum(real, axis=1) * real
