"""Misconception: no maximum subtracted: math.exp raises OverflowError for a score of 1000.

Source (direct): pytorch/executorch#18407 and others
"""
from math import exp, sqrt


def attend(query, keys, values):
    exps = []
    for key in keys:
        dot = 0.0
        for a, b in zip(query, key):
            dot += a * b
        exps.append(exp(dot / sqrt(len(key))))
    z = sum(exps)
    weights = [e / z for e in exps]
    output = [0.0 for _ in values[0]]
    for weight, value in zip(weights, values):
        output = [o + weight * v for o, v in zip(output, value)]
    return output, weights
