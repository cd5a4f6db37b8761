"""Correct but unusual: counts as if the padding were on the right and rolls each row to its end.
"""
import numpy as np


def position_ids(lengths, k_len, side="right"):
    rows = []
    for n in np.asarray(lengths).tolist():
        row = np.array([*range(n), *[0] * (k_len - n)], dtype=np.int64)
        rows.append(np.roll(row, k_len - n) if side == "left" else row)
    return np.stack(rows)
