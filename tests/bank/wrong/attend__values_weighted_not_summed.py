"""Misconception: multiplies every value by its weight and stops there: a list of vectors comes out.

Source (analogue): a question often asked where the weighted sum is written with loops
"""
import math


def attend(query, keys, values):
    scores = [sum(q * k for q, k in zip(query, key)) / math.sqrt(len(query)) for key in keys]
    top = max(scores)
    e = [math.exp(s - top) for s in scores]
    weights = [x / sum(e) for x in e]
    output = [[w * x for x in v] for w, v in zip(weights, values)]
    return output, weights
