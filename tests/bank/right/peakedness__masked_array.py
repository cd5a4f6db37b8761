"""Correct but unusual: a masked logarithm, sorted for the largest.
"""
import numpy as np


def peakedness(weights):
    logs = np.ma.log(np.ma.masked_equal(weights, 0.0)).filled(0.0)
    return [np.sort(weights, axis=-1)[..., -1], np.abs((weights * logs).sum(axis=-1))]
