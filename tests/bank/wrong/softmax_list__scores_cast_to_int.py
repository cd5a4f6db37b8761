"""Misconception: turns the scores into integers first, so that they can be compared exactly.

Source (analogue): rsokl/MyGrad#193
"""
import math


def softmax_list(row):
    highest = max(row)
    if highest == -math.inf:
        return [0.0] * len(row)
    exps = [0.0 if score == -math.inf else math.exp(int(score) - int(highest)) for score in row]
    total = sum(exps)
    return [e / total for e in exps]
