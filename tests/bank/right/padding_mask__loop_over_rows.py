"""Correct but unusual: one row at a time, with slices, and a list of rows at the end.
"""
import numpy as np


def padding_mask(lengths, k_len, side="right"):
    rows = []
    for length in lengths:
        row = np.zeros((1, k_len), dtype=bool)
        if side == "right":
            row[0, : int(length)] = True
        else:
            row[0, k_len - int(length) :] = True
        rows.append(row)
    return np.array(rows).reshape(len(rows), 1, k_len)
