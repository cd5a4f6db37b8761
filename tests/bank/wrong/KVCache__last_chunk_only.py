"""Misconception: append assigns instead of joining: only the newest chunk is there.

Source (analogue): huggingface/transformers#23175
"""
import numpy as np


class KVCache:
    def __init__(self):
        self.keys = None
        self.values = None
        self.length = 0

    def append(self, k, v):
        self.keys = k.copy()
        self.values = v.copy()
        self.length += k.shape[-2]

    def __len__(self):
        return self.length
