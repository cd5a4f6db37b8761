"""Misconception: leaves scores of −inf out, so that the list gets shorter.
"""
import math


def softmax_list(row):
    highest = max(row)
    if highest == -math.inf:
        return [0.0] * len(row)
    exps = [math.exp(score - highest) for score in row if score != -math.inf]
    total = sum(exps)
    return [e / total for e in exps]
