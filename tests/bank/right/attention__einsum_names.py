"""Correct but unusual: einsum with an ellipsis, the scale given to the queries beforehand in a copy.
"""
import numpy as np


def attention(Q, K, V, scale=None):
    c = Q.shape[-1] ** -0.5 if scale is None else scale
    s = np.einsum("...qd,...kd->...kq", np.multiply(Q, c, dtype=np.result_type(Q, float)), K)
    w = np.exp(s - np.logaddexp.reduce(s, axis=-2, keepdims=True))
    return np.einsum("...kq,...kv->...qv", w, V), w.swapaxes(-1, -2)
