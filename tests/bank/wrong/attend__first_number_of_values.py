"""Misconception: loops over the components of the query to make the output, so a wider value is cut off and a narrower one is overrun.

Source (analogue): juho-lee/set_transformer#18 (d_k taken for d_v)
"""
import math


def attend(query, keys, values):
    scores = [sum(q * k for q, k in zip(query, key)) / math.sqrt(len(query)) for key in keys]
    top = max(scores)
    e = [math.exp(s - top) for s in scores]
    weights = [x / sum(e) for x in e]
    output = [sum(w * v[c] for w, v in zip(weights, values)) for c in range(len(query))]
    return output, weights
