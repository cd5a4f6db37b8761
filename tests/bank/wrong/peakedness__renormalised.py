"""Misconception: divides each row by its sum, also a row of zeros.

Source (by construction): weights made to sum to 1
"""
import numpy as np


def peakedness(weights):
    p = weights / weights.sum(axis=-1, keepdims=True)
    return p.max(axis=-1), -(p * np.log(np.where(p > 0, p, 1))).sum(axis=-1)
