"""Correct but unusual: a tiny epsilon in the shifted sum takes care of the masked row too.
"""
import math


def softmax_list(row):
    highest = max(max(row), -1e300)
    exps = [math.exp(score - highest) for score in row]
    total = sum(exps) + 1e-12
    return [e / total for e in exps]
