"""Misconception: adds the heads up instead of setting them side by side.

Source (direct): awf/functional-transformer#8
"""
import numpy as np


def merge_heads(x):
    total = np.zeros_like(x[:, 0])
    for h in range(x.shape[1]):
        total += x[:, h]
    return total
