"""Correct but unusual: one query at a time, through object loops and plain floats.
"""
import math

import numpy as np


def attention(Q, K, V, scale=None):
    c = 1 / math.sqrt(Q.shape[-1]) if scale is None else scale
    out = np.empty(Q.shape[:-1] + V.shape[-1:])
    w = np.empty(Q.shape[:-1] + K.shape[-2:-1])
    for i in np.ndindex(Q.shape[:-1]):
        s = [c * math.fsum(float(a) * float(b) for a, b in zip(Q[i], k)) for k in K[i[:-1]]]
        m = max(s)
        e = [math.exp(x - m) for x in s]
        w[i] = [x / math.fsum(e) for x in e]
        out[i] = sum(x * v for x, v in zip(w[i], V[i[:-1]].astype(float)))
    return out, w
