"""Misconception: divides by d_k, the square root forgotten.

Source (direct): delzac/cntkx#10
"""
import math


def attend(query, keys, values):
    scores = [sum(a * b for a, b in zip(query, key)) / len(key) for key in keys]
    top = max(scores)
    e = [math.exp(s - top) for s in scores]
    weights = [x / sum(e) for x in e]
    output = [sum(w * v[c] for w, v in zip(weights, values)) for c in range(len(values[0]))]
    return output, weights
