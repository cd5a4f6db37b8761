"""Misconception: 0 times the logarithm of 0.

Source (direct): tensorflow/probability#241
"""
import numpy as np


def peakedness(weights):
    entropy = -np.sum(weights * np.log(weights), axis=-1)
    return np.max(weights, axis=-1), entropy
