"""Misconception: the logarithm to base 2.

Source (direct): rrtucci/Entanglish#6 (bits and nats)
"""
import numpy as np


def peakedness(weights):
    safe = np.where(weights > 0, weights, 1)
    return weights.max(-1), -np.sum(weights * np.log2(safe), axis=-1)
