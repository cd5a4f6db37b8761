"""Misconception: cuts the sequence into chunks of the window's length instead of sliding it.

Source (analogue): maxjcohen/transformer#12 (chunks and windows taken for one)
"""
import numpy as np


def sliding_window_mask(q_len, window):
    mask = np.zeros((q_len, q_len), dtype=bool)
    for start in range(0, q_len, window):
        size = min(window, q_len - start)
        mask[start:start + size, start:start + size] = np.tri(size, dtype=bool)
    return mask
