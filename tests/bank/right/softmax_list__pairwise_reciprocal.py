"""Correct but unusual: no maximum: one over the sum of exp of all differences, where an overflow means 0.
"""
import math


def softmax_list(row):
    def power(difference):
        return math.inf if difference > 700 else math.exp(difference)

    return [
        0.0 if score == -math.inf else 1 / sum(power(other - score) for other in row)
        for score in row
    ]
