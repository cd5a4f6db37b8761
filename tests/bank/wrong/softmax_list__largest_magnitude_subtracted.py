"""Misconception: subtracts the largest absolute value: a row far below zero underflows.
"""
import math


def softmax_list(row):
    highest = max(row)
    if highest == -math.inf:
        return [0.0] * len(row)
    shift = max(abs(score) for score in row if score != -math.inf)
    exps = [math.exp(score - shift) for score in row]
    total = sum(exps)
    return [e / total if total else 0.0 for e in exps]
