"""Correct but unusual: the larger root of 4 d S^2 - 8 d^2 S, as a NumPy float.
"""
import numpy as np


def crossover_length(d_model):
    return np.roots([4.0 * d_model, -8.0 * d_model**2, 0.0]).max()
