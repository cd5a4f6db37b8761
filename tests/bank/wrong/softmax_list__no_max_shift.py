"""Misconception: exponentiates raw scores: math.exp stops with an OverflowError above 709, and far below zero
every term is 0.

Source (direct): Open-Deep-ML/DML-OpenProblem#406; uTensor/uTensor#175
"""
import math


def softmax_list(row):
    exps = [math.exp(score) for score in row]
    total = sum(exps)
    return [e / total if total else 0.0 for e in exps]
