"""Misconception: adds an epsilon to the weights in both places.

Source (direct): joshyZhou/AST#17 (with 1e-8)
"""
import numpy as np


def peakedness(weights):
    p = weights + 1e-3
    return weights.max(axis=-1), -(p * np.log(p)).sum(axis=-1)
