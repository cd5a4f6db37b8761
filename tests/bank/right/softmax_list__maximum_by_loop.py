"""Correct but unusual: two passes with loops only, the maximum found by hand.
"""
import math


def softmax_list(row):
    highest = row[0]
    for score in row[1:]:
        if score > highest:
            highest = score
    weights = []
    total = 0.0
    for score in row:
        weight = math.exp(score - highest) if score > -math.inf else 0.0
        weights.append(weight)
        total += weight
    for index, weight in enumerate(weights):
        weights[index] = weight / total if total > 0 else 0.0
    return weights
