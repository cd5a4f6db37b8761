"""Misconception: takes −1e4 for −inf: beside allowed scores below it, the hidden one takes the weight.

Source (analogue): ohdearquant/lattice#374
"""
import math


def softmax_list(row):
    highest = max(row)
    if highest == -math.inf:
        return [0.0] * len(row)
    filled = [max(score, -1e4) if score == -math.inf else score for score in row]
    highest = max(filled)
    exps = [math.exp(score - highest) for score in filled]
    total = sum(exps)
    return [e / total for e in exps]
