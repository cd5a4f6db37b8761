"""Misconception: writes into the gradient that it was given.

Source (by construction): `-=` on an argument
"""
import numpy as np


def softmax_backward(weights, grad):
    grad -= (weights * grad).sum(axis=-1, keepdims=True)
    return weights * grad
