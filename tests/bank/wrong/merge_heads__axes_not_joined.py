"""Misconception: moves the heads behind the tokens and stops there.

Source (analogue): ajhalthor/Transformer-Neural-Network#4
"""
import numpy as np


def merge_heads(x):
    return x.transpose(0, 2, 1, 3)
