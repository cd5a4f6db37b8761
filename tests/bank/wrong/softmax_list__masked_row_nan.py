"""Misconception: has no answer to a row of −inf: −inf minus −inf is NaN.

Source (direct): pytorch/pytorch#25110
"""
import math


def softmax_list(row):
    highest = max(row)
    exps = [math.exp(score - highest) for score in row]
    total = sum(exps)
    return [e / total for e in exps]
