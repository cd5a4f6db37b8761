"""Misconception: always axis 1.

Source (direct): castorini/DeeBERT#18
"""
import numpy as np


def peakedness(weights):
    if weights.ndim == 1:
        weights = weights[None]
        a, b = peakedness(weights)
        return a[0], b[0]
    logs = np.log(np.where(weights == 0, 1.0, weights))
    return weights.max(axis=1), -(weights * logs).sum(axis=1)
