"""Correct but unusual: the sum without rounding.
"""
import math


def softmax_list(row):
    highest = max(row)
    if highest == -math.inf:
        return [0.0] * len(row)
    exps = [math.exp(score - highest) for score in row]
    return [e / math.fsum(exps) for e in exps]
