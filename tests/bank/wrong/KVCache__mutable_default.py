"""Misconception: the stores are default arguments, which Python makes once for all caches.
"""
import numpy as np


class KVCache:
    def __init__(self, k_list=[], v_list=[]):
        self.k_list = k_list
        self.v_list = v_list

    def append(self, k, v):
        self.k_list.append(np.array(k))
        self.v_list.append(np.array(v))

    keys = property(lambda self: np.concatenate(self.k_list, -2))
    values = property(lambda self: np.concatenate(self.v_list, -2))

    def __len__(self):
        n = 0
        for k in self.k_list:
            n += k.shape[-2]
        return n
