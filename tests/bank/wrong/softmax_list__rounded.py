"""Misconception: rounds each weight to three decimals: they no longer sum to 1.
"""
import math


def softmax_list(row):
    highest = max(row)
    if highest == -math.inf:
        return [0.0] * len(row)
    exps = [math.exp(score - highest) for score in row]
    total = sum(exps)
    return [round(e / total, 3) for e in exps]
