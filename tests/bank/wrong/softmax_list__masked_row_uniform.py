"""Misconception: gives a row of −inf equal weights instead of zeros.

Source (direct): pytorch/pytorch#131060 (the first of its two options)
"""
import math


def softmax_list(row):
    highest = max(row)
    if highest == -math.inf:
        return [1 / len(row)] * len(row)
    exps = [math.exp(score - highest) for score in row]
    total = sum(exps)
    return [e / total for e in exps]
