"""Correct but unusual: keeps copies of the chunks in a list and joins them only when somebody
reads.
"""
import numpy as np


class KVCache:
    def __init__(self):
        self._chunks = []

    def append(self, k, v):
        self._chunks.append((np.array(k), np.array(v)))

    def _joined(self, which):
        if len(self._chunks) > 1:
            self._chunks = [tuple(np.concatenate(parts, axis=-2) for parts in zip(*self._chunks))]
        return self._chunks[0][which]

    keys = property(lambda self: self._joined(0))
    values = property(lambda self: self._joined(1))

    def __len__(self):
        return sum(k.shape[-2] for k, _ in self._chunks)
