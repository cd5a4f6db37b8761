"""Misconception: compares fn of a prefix with the prefix of fn: functions that count on their length are accused,
and a leak that only large inputs open is missed.

Source (analogue): huggingface/transformers#48748 (cached and uncached generation compared)
"""
import numpy as np


def first_leak(fn, x):
    full = np.array(fn(x))
    if not np.isfinite(full).all():
        raise ValueError("not finite")
    for i in range(len(x) - 1):
        short = np.array(fn(x[:i + 1]))
        if not np.isfinite(short).all():
            raise ValueError("not finite")
        if np.abs(short[i] - full[i]).max() > 1e-9:
            return i
    return None
