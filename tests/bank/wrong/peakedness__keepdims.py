"""Misconception: keeps the last axis.

Source (direct): xjdr-alt/entropix#17
"""
import numpy as np


def peakedness(weights):
    logs = np.log(np.maximum(weights, 1e-300))
    entropy = -np.sum(weights * logs, axis=-1, keepdims=True)
    return np.max(weights, axis=-1, keepdims=True), entropy
