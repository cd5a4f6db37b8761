"""Misconception: the gradient of the log-softmax.

Source (analogue): mlpack/mlpack#2360
"""
import numpy as np


def softmax_backward(weights, grad):
    return grad - weights * grad.sum(axis=-1, keepdims=True)
