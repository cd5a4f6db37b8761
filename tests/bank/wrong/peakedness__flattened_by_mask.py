"""Misconception: a boolean index flattens the table.

Source (analogue): joshyZhou/AST#17 (one number for all rows)
"""
import numpy as np


def peakedness(weights):
    p = weights[weights > 0]
    return weights.max(axis=-1), -(p * np.log(p)).sum()
