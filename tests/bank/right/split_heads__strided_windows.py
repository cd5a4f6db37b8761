"""Correct but unusual: a view with strides of its own.
"""
import numpy as np


def split_heads(x, n_heads):
    B, S, D = x.shape
    d = D // n_heads
    b, s, c = x.strides
    return np.lib.stride_tricks.as_strided(x, (B, n_heads, S, d), (b, d * c, s, c), writeable=False)
