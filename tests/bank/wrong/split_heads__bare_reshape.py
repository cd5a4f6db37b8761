"""Misconception: a bare reshape to the shape that was asked for.

Source (direct): reczoo/FuxiCTR#30
"""
import numpy as np


def split_heads(x, n_heads):
    batch, length, width = x.shape
    out = np.reshape(x, (batch, n_heads, length, width // n_heads))
    return out
