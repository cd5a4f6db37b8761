"""Misconception: stores the new keys and then attends over k and v alone: the past is never
read.
"""
import numpy as np


def _attend(q, K, V, keep):
    s = q @ np.swapaxes(K, -1, -2) / np.sqrt(q.shape[-1])
    s = np.where(keep, s, -np.inf)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) @ V



def decode_step(q, k, v, cache):
    cache.append(k, v)
    n = q.shape[-2]
    return _attend(q, k, v, np.tril(np.ones((n, n), dtype=bool)))
