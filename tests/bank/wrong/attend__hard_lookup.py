"""Misconception: returns the value of the best key, as a dict would.

Source (analogue): hard and soft attention confused in question-and-answer threads
"""
import math


def attend(query, keys, values):
    scores = [sum(q * k for q, k in zip(query, key)) / math.sqrt(len(query)) for key in keys]
    top = max(scores)
    e = [math.exp(s - top) for s in scores]
    weights = [x / sum(e) for x in e]
    output = list(values[weights.index(max(weights))])
    return output, weights
