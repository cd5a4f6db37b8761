"""Correct but unusual: each weight as 1 over a sum of ratios, no maximum anywhere.
"""
import math


def attend(query, keys, values):
    scaled = [q / math.sqrt(len(query)) for q in query]
    scores = [sum(a * b for a, b in zip(scaled, key)) for key in keys]

    def weight(s):
        if max(scores) - s > 700:
            return 0.0
        return 1 / sum(math.exp(t - s) for t in scores)

    weights = [weight(s) for s in scores]
    return [math.fsum(w * v[i] for w, v in zip(weights, values)) for i in range(len(values[0]))], weights
