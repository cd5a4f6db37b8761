"""Correct but unusual: the fourth root of the scale in Q and in K; results in longdouble made read-only float64.
"""
import numpy as np


def attention(Q, K, V, scale=None):
    c = 1 / np.sqrt(np.longdouble(Q.shape[-1])) if scale is None else np.longdouble(scale)
    r = np.sqrt(c)
    s = (r * Q) @ np.moveaxis(r * K, -2, -1)
    w = np.exp(s - s.max(-1)[..., None])
    w = w / w.sum(-1)[..., None]
    o = (w @ V).astype(np.float64)
    w = w.astype(np.float64)
    o.flags.writeable = w.flags.writeable = False
    return o, w
