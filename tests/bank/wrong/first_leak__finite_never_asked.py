"""Misconception: never asks whether the outputs are finite: every comparison with NaN is False, so a broken
function looks causal.

Source (analogue): allenai/OLMo#322; pytorch/pytorch#103749 (NaN outputs of attention)
"""
import numpy as np


def first_leak(fn, x):
    before = np.array(fn(x))
    for i in range(len(x) - 1):
        for size in (1, 100):
            for sign in (1, -1):
                y = x.copy()
                y[i + 1:] += sign * size
                if (np.abs(np.array(fn(y))[i] - before[i]) > 1e-9).any():
                    return i
    return None
