"""Misconception: divides the exponentials by the largest of them: the largest weight is always 1.
"""
import math


def softmax_list(row):
    highest = max(row)
    if highest == -math.inf:
        return [0.0] * len(row)
    return [math.exp(score - highest) for score in row]
