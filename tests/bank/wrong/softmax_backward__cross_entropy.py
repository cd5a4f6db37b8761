"""Misconception: weights minus target, the gradient of softmax and cross-entropy.

Source (by construction): the best-known gradient of a softmax
"""
import numpy as np


def softmax_backward(weights, grad):
    return weights - grad
