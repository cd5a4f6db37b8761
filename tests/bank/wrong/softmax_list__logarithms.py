"""Misconception: returns the logarithms of the weights.

Source (direct): soumith/imagenet-multiGPU.torch#106
"""
import math


def softmax_list(row):
    highest = max(row)
    if highest == -math.inf:
        return [0.0] * len(row)
    total = sum(math.exp(score - highest) for score in row)
    return [score - highest - math.log(total) for score in row]
