"""Misconception: the first chunk is kept as it came, not copied: the caller's next write changes
the past.
"""
import numpy as np


class KVCache:
    def __init__(self):
        self.keys = None
        self.values = None

    def append(self, k, v):
        if self.keys is None:
            self.keys, self.values = k, v
            return
        self.keys = np.concatenate((self.keys, k), axis=-2)
        self.values = np.concatenate((self.values, v), axis=-2)

    def __len__(self):
        return 0 if self.keys is None else self.keys.shape[-2]
