"""Misconception: np.vstack joins along the first axis, which is right for one text only.

Source (analogue): Blaizzy/mlx-vlm#1231
"""
import numpy as np


class KVCache:
    def __init__(self):
        self.keys = self.values = None
        self.n = 0

    def append(self, k, v):
        if self.keys is None:
            self.keys, self.values = k.copy(), v.copy()
        else:
            self.keys = np.vstack([self.keys, k])
            self.values = np.vstack([self.values, v])
        self.n += k.shape[-2]

    def __len__(self):
        return self.n
