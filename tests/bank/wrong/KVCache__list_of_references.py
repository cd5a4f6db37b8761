"""Misconception: collects the caller's arrays in a list and joins them when read: a buffer that
is used again fills every place.
"""
import numpy as np


class KVCache:
    def __init__(self):
        self.chunks = []

    def append(self, k, v):
        self.chunks.append((np.asarray(k), np.asarray(v)))

    @property
    def keys(self):
        return np.concatenate([k for k, _ in self.chunks], axis=-2)

    @property
    def values(self):
        return np.concatenate([v for _, v in self.chunks], axis=-2)

    def __len__(self):
        return sum(k.shape[-2] for k, _ in self.chunks)
