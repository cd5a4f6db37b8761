"""Misconception: a square-minded mask: the new tokens count as positions 0, 1, 2 of the text.

Source (direct): pytorch/executorch#21749; gittensor-ai-lab/sparkinfer#3
"""
import numpy as np


def _attend(q, K, V, keep):
    s = q @ np.swapaxes(K, -1, -2) / np.sqrt(q.shape[-1])
    s = np.where(keep, s, -np.inf)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) @ V



def decode_step(q, k, v, cache):
    cache.append(k, v)
    n, total = q.shape[-2], len(cache)
    mask = np.tril(np.ones((n, total), dtype=bool))
    return _attend(q, cache.keys, cache.values, mask)
