"""Misconception: writes 1 into the weights where they are 0.

Source (analogue): donggong1/memae-anomaly-detection#10 (1 in place of 0)
"""
import numpy as np


def peakedness(weights):
    largest = weights.max(axis=-1)
    weights[weights == 0] = 1
    return largest, -(weights * np.log(weights)).sum(axis=-1)
