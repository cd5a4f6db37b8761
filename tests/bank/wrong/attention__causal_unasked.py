"""Misconception: hides later keys, as in every decoder one has seen.

Source (direct): neetcode-gh/leetcode#5219 (a triangle that the task did not ask for)
"""
import numpy as np


def attention(Q, K, V, scale=None):
    if scale is None:
        scale = 1 / np.sqrt(Q.shape[-1])
    s = Q @ np.swapaxes(K, -1, -2) * scale
    s = np.where(np.tril(np.ones(s.shape[-2:], dtype=bool)), s, -np.inf)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    w = e / e.sum(axis=-1, keepdims=True)
    return w @ V, w
