"""Misconception: subtracts the maximum in the caller's own list.

Source (analogue): JuliaGPU/CUDA.jl#592
"""
import math


def softmax_list(row):
    highest = max(row)
    if highest == -math.inf:
        return [0.0] * len(row)
    for index in range(len(row)):
        row[index] -= highest
    exps = [math.exp(score) for score in row]
    total = sum(exps)
    return [e / total for e in exps]
