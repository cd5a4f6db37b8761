"""Misconception: divided by the largest possible entropy.

Source (by construction): entropy as a share
"""
import numpy as np


def peakedness(weights):
    logs = np.log(np.where(weights > 0, weights, 1.0))
    entropy = -(weights * logs).sum(axis=-1)
    return weights.max(axis=-1), entropy / np.log(weights.shape[-1])
