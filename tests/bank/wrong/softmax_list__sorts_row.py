"""Misconception: sorts the caller's list to find the maximum at its end.
"""
import math


def softmax_list(row):
    order = list(row)
    row.sort()
    highest = row[-1]
    if highest == -math.inf:
        return [0.0] * len(row)
    exps = [math.exp(score - highest) for score in order]
    total = sum(exps)
    return [e / total for e in exps]
