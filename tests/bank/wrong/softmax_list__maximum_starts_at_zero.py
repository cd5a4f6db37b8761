"""Misconception: starts the search for the maximum at 0: below zero it is never found.

Source (direct): uTensor/uTensor#176; FluxML/NNlib.jl#43
"""
import math


def softmax_list(row):
    highest = 0.0
    for score in row:
        if score > highest:
            highest = score
    exps = [math.exp(score - highest) for score in row]
    total = sum(exps)
    return [e / total if total else 0.0 for e in exps]
