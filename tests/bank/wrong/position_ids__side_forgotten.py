"""Misconception: the side is not looked at.
"""
import numpy as np


def position_ids(lengths, k_len, side="right"):
    n = np.asarray(lengths)[:, np.newaxis]
    i = np.arange(k_len)[np.newaxis, :]
    return np.where(i < n, i, 0)
