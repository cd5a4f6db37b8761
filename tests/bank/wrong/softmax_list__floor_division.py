"""Misconception: divides with //: every weight below 1 becomes 0.
"""
import math


def softmax_list(row):
    highest = max(row)
    if highest == -math.inf:
        return [0.0] * len(row)
    exps = [math.exp(score - highest) for score in row]
    total = sum(exps)
    return [e // total for e in exps]
