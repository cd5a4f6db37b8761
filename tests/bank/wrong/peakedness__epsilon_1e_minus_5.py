"""Misconception: an epsilon in the logarithm that shows.

Source (direct): joshyZhou/AST#17 (with 1e-8)
"""
import numpy as np


def peakedness(weights):
    return weights.max(axis=-1), -(weights * np.log(weights + 1e-5)).sum(axis=-1)
