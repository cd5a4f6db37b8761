"""Misconception: expects the heads in front of the items.

Source (direct): gazelle93/Transformer-Various-Positional-Encoding#1
"""
import numpy as np


def merge_heads(x):
    H, B, S, d = x.shape
    return np.transpose(x, (1, 2, 0, 3)).reshape(B, S, H * d)
