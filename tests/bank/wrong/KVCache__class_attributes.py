"""Misconception: keys and values are lists of the class, so every cache of the program shares
them.

Source (analogue): Soul-AILab/SoulX-LiveAct#8; microsoft/onnxruntime-genai#1057
"""
import numpy as np


class KVCache:
    ks = []
    vs = []

    def append(self, k, v):
        self.ks.append(k.copy())
        self.vs.append(v.copy())

    @property
    def keys(self):
        return np.concatenate(self.ks, axis=-2)

    @property
    def values(self):
        return np.concatenate(self.vs, axis=-2)

    def __len__(self):
        return sum(k.shape[-2] for k in self.ks)
