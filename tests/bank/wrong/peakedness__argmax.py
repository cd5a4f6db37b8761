"""Misconception: the place of the largest weight.

Source (by construction): argmax for max
"""
import numpy as np


def peakedness(weights):
    logs = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    return np.argmax(weights, axis=-1), -(weights * logs).sum(-1)
