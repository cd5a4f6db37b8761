"""Misconception: subtracts the sum without its weight.

Source (analogue): HomericIntelligence/Odyssey#2134
"""
import numpy as np


def softmax_backward(weights, grad):
    products = weights * grad
    return products - products.sum(axis=-1, keepdims=True)
