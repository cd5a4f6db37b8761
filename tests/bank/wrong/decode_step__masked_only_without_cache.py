"""Misconception: the causal mask is used for the prefill alone; a chunk behind a cache goes
without.

Source (analogue): meta-pytorch/torchtune#959; huggingface/candle#3743
"""
import numpy as np


def _attend(q, K, V, keep):
    s = q @ np.swapaxes(K, -1, -2) / np.sqrt(q.shape[-1])
    s = np.where(keep, s, -np.inf)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) @ V



def decode_step(q, k, v, cache):
    first = len(cache) == 0
    cache.append(k, v)
    n, total = q.shape[-2], len(cache)
    mask = np.tril(np.ones((n, n), bool)) if first else np.ones((n, total), bool)
    return _attend(q, cache.keys, cache.values, mask)
