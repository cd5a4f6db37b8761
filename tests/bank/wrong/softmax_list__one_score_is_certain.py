"""Misconception: returns 1 for a row of one score, whatever the score is.
"""
import math


def softmax_list(row):
    if len(row) == 1:
        return [1.0]
    highest = max(row)
    if highest == -math.inf:
        return [0.0] * len(row)
    exps = [math.exp(score - highest) for score in row]
    total = sum(exps)
    return [e / total for e in exps]
