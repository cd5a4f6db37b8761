"""Correct but unusual: one item at a time, heads joined by np.hstack.
"""
import numpy as np


def merge_heads(x):
    return np.stack([np.hstack(list(item)) for item in x])
