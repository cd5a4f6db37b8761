"""Misconception: divides each exponential by the sum of the scores.
"""
import math


def softmax_list(row):
    highest = max(row)
    if highest == -math.inf:
        return [0.0] * len(row)
    total = sum(score for score in row if score != -math.inf)
    return [math.exp(score - highest) / total if total else 0.0 for score in row]
