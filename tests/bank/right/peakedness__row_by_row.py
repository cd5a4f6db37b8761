"""Correct but unusual: plain Python for each row, put together again.
"""
import math

import numpy as np


def row(weights):
    total = 0.0
    for w in weights:
        if w > 0:
            total -= w * math.log(w)
    return max(weights), total


def peakedness(weights):
    flat = np.asarray(weights, dtype=float).reshape(-1, np.shape(weights)[-1])
    pairs = np.array([row(each) for each in flat.tolist()])
    shape = np.shape(weights)[:-1]
    return pairs[:, 0].reshape(shape), pairs[:, 1].reshape(shape)
