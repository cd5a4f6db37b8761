"""Misconception: hands the two results back in the other order.

Source (analogue): jsbaan/transformer-from-scratch#1 (returned in one order, unpacked in another)
"""
import math


def attend(query, keys, values):
    scores = [sum(q * k for q, k in zip(query, key)) / math.sqrt(len(query)) for key in keys]
    top = max(scores)
    e = [math.exp(s - top) for s in scores]
    weights = [x / sum(e) for x in e]
    output = [sum(w * v[c] for w, v in zip(weights, values)) for c in range(len(values[0]))]
    return weights, output
