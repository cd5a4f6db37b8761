"""Misconception: divides the components of the caller's own query; the second call with it is wrong.

Source (analogue): hao-ai-lab/FastVideo#1457
"""
import math


def attend(query, keys, values):
    for i in range(len(query)):
        query[i] = query[i] / math.sqrt(len(query))
    scores = [sum(q * k for q, k in zip(query, key)) for key in keys]
    top = max(scores)
    e = [math.exp(s - top) for s in scores]
    weights = [x / sum(e) for x in e]
    return [sum(w * v[c] for w, v in zip(weights, values)) for c in range(len(values[0]))], weights
