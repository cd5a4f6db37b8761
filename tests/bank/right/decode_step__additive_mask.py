"""Correct but unusual: a mask of zeros and -1e9 that is added, made by np.triu from positions.
"""
import numpy as np


def decode_step(q, k, v, cache):
    cache.append(k, v)
    n, total = q.shape[-2], len(cache)
    mask = np.triu(np.full((n, total), -1e9), k=total - n + 1)
    scores = np.matmul(q, np.moveaxis(cache.keys, -1, -2)) / np.sqrt(q.shape[-1]) + mask
    scores -= scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores)
    return np.matmul(weights, cache.values) / weights.sum(axis=-1, keepdims=True)
