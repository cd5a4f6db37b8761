"""Misconception: divides in place and sums the list anew each time, so that the sum shrinks on the way.
"""
import math


def softmax_list(row):
    highest = max(row)
    if highest == -math.inf:
        return [0.0] * len(row)
    exps = [math.exp(score - highest) for score in row]
    for index in range(len(exps)):
        exps[index] = exps[index] / sum(exps)
    return exps
