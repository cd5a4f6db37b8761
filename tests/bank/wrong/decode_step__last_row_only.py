"""Misconception: answers for the newest token only, whatever the chunk.
"""
import numpy as np


def _attend(q, K, V, keep):
    s = q @ np.swapaxes(K, -1, -2) / np.sqrt(q.shape[-1])
    s = np.where(keep, s, -np.inf)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) @ V



def decode_step(q, k, v, cache):
    cache.append(k, v)
    return _attend(q[..., -1:, :], cache.keys, cache.values, True)
