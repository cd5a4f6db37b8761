"""Misconception: adds 1e-5 to the sum against a division by zero.

Source (analogue): open-edge-platform/geti#1507
"""
import math


def softmax_list(row):
    highest = max(row)
    if highest == -math.inf:
        highest = 0.0
    exps = [math.exp(score - highest) for score in row]
    total = sum(exps) + 1e-5
    return [e / total for e in exps]
