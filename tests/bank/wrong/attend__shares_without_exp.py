"""Misconception: divides the scores by their sum; the exponential is missing.

Source (direct): a common first answer to "make them sum to 1"
"""
import math


def attend(query, keys, values):
    d = len(query)
    scores = [sum(query[i] * key[i] for i in range(d)) / math.sqrt(d) for key in keys]
    total = sum(scores)
    weights = [s / total for s in scores]
    out = [0.0] * len(values[0])
    for w, value in zip(weights, values):
        for c in range(len(value)):
            out[c] += w * value[c]
    return out, weights
