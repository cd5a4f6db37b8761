"""Misconception: the Jacobian of a vector, used for a table.

Source (direct): PrincetonUniversity/PsyNeuLink#2539
"""
import numpy as np


def softmax_backward(weights, grad):
    jacobian = np.diagflat(weights) - np.outer(weights, weights)
    return (jacobian @ grad.reshape(-1)).reshape(grad.shape)
