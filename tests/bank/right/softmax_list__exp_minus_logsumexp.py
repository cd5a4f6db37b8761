"""Correct but unusual: exp of the score minus the logarithm of the sum.
"""
import math


def softmax_list(row):
    highest = max(row)
    if highest == -math.inf:
        return [0.0] * len(row)
    lse = highest + math.log(sum(math.exp(score - highest) for score in row))
    return [math.exp(score - lse) for score in row]
