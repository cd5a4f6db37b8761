"""Misconception: mixes the keys by the weights; the values are never read.

Source (analogue): ruvnet/agentic-flow#191
"""
import math


def attend(query, keys, values):
    scores = [sum(q * k for q, k in zip(query, key)) / math.sqrt(len(query)) for key in keys]
    top = max(scores)
    e = [math.exp(s - top) for s in scores]
    weights = [x / sum(e) for x in e]
    output = [sum(w * k[c] for w, k in zip(weights, keys)) for c in range(len(keys[0]))]
    return output, weights
