"""Correct but unusual: a small epsilon inside the logarithm.
"""
import numpy as np


def peakedness(weights):
    return weights.max(axis=-1), -np.einsum("...k,...k->...", weights, np.log(weights + 1e-12))
