"""Misconception: the plain dot product is the score; nothing is divided by the root of the width.

Source (direct): PAIR-code/tiny-transformers#71
"""
import math


def attend(query, keys, values):
    scores = [sum(q * k for q, k in zip(query, key)) for key in keys]
    top = max(scores)
    e = [math.exp(s - top) for s in scores]
    weights = [x / sum(e) for x in e]
    output = [sum(w * v[c] for w, v in zip(weights, values)) for c in range(len(values[0]))]
    return output, weights
