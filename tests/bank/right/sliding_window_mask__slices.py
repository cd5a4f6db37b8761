"""Correct but unusual: fills a slice of each row, and gives a read-only Fortran-ordered array.
"""
import numpy as np


def sliding_window_mask(q_len, window):
    mask = np.zeros((q_len, q_len), dtype=bool, order="F")
    for i in range(q_len):
        mask[i, max(i + 1 - window, 0):i + 1] = True
    mask.flags.writeable = False
    return mask
