"""Misconception: poisons the future with NaN and looks where NaN comes out: 0 * NaN accuses every right attention.

Source (direct): pytorch/pytorch#101967
"""
import numpy as np


def first_leak(fn, x):
    if not np.isfinite(fn(x)).all():
        raise ValueError("fn(x) is not finite")
    for i in range(len(x) - 1):
        poisoned = np.array(x, dtype=float)
        poisoned[i + 1:] = np.nan
        if np.isnan(fn(poisoned)[i]).any():
            return i
    return None
