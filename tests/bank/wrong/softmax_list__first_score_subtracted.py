"""Misconception: subtracts the first score of the row, not the largest.

Source (analogue): ROCm/AMDMIGraphX#1290 (review)
"""
import math


def softmax_list(row):
    highest = max(row)
    if highest == -math.inf:
        return [0.0] * len(row)
    first = row[0] if row[0] != -math.inf else highest
    exps = [math.exp(score - first) for score in row]
    total = sum(exps)
    return [e / total if total else 0.0 for e in exps]
