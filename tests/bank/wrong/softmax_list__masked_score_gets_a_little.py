"""Misconception: bounds the exponents at −700 to stay clear of 0: a score of −inf gets weight.

Source (analogue): PaddlePaddle/Paddle#4366
"""
import math


def softmax_list(row):
    highest = max(row)
    if highest == -math.inf:
        return [0.0] * len(row)
    exps = [math.exp(max(score - highest, -700.0)) for score in row]
    total = sum(exps)
    return [e / total for e in exps]
