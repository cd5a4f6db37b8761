"""Misconception: negative entropy.

Source (by construction): the minus before the sum
"""
import numpy as np


def peakedness(weights):
    p = np.clip(weights, 1e-300, None)
    return weights.max(axis=-1), np.sum(weights * np.log(p), axis=-1)
