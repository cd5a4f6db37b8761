"""Misconception: np.array of np.split: heads first, items second, and the same order expected by merge.

Source (direct): Kyubyong/transformer#55 (heads joined to the batch, heads first)
"""
import numpy as np


def split_heads(x, n_heads):
    return np.array(np.split(x, n_heads, axis=-1))


def merge_heads(x):
    return np.concatenate(list(x), axis=-1)
