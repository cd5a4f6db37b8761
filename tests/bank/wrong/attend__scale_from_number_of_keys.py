"""Misconception: takes the length of the list of keys for the width of a key.

Source (analogue): cneuralnetwork/solving-ml-papers#1 (the wrong size under the root)
"""
import math


def attend(query, keys, values):
    scores = [sum(q * k for q, k in zip(query, key)) / math.sqrt(len(keys)) for key in keys]
    top = max(scores)
    e = [math.exp(s - top) for s in scores]
    weights = [x / sum(e) for x in e]
    output = [sum(w * v[c] for w, v in zip(weights, values)) for c in range(len(values[0]))]
    return output, weights
