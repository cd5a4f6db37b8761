"""Misconception: compares directions only: divides by the lengths of both vectors in place of the root of their width.

Source (analogue): cosine similarity in place of the dot product, as in retrieval code
"""
import math


def attend(query, keys, values):
    def norm(x):
        return math.sqrt(sum(c * c for c in x)) or 1.0

    scores = [sum(a * b for a, b in zip(query, k)) / (norm(query) * norm(k)) for k in keys]
    e = [math.exp(s) for s in scores]
    weights = [x / sum(e) for x in e]
    return [sum(w * x for w, x in zip(weights, col)) for col in zip(*values)], weights
