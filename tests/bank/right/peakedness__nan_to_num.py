"""Correct but unusual: 0 times -inf made 0 afterwards, with a warning.
"""
import numpy as np


def peakedness(weights):
    terms = np.nan_to_num(weights * np.log(weights))
    return np.amax(weights, -1), -np.sum(terms, -1)
