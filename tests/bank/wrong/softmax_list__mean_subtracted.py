"""Misconception: subtracts the mean: one score far above it still overflows.

Source (analogue): uxlfoundation/oneDNN#30
"""
import math


def softmax_list(row):
    highest = max(row)
    if highest == -math.inf:
        return [0.0] * len(row)
    allowed = [score for score in row if score != -math.inf]
    mean = sum(allowed) / len(allowed)
    exps = [math.exp(score - mean) for score in row]
    total = sum(exps)
    return [e / total for e in exps]
