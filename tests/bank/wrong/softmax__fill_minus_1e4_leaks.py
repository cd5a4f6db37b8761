"""Misconception: replaces −inf by −1e4, which is a score like any other: beside allowed scores below it, the
hidden one takes the weight.

Source (direct): ohdearquant/lattice#374; hyunwoongko/transformer#40 (analogue)
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    work = x.astype(np.promote_types(x.dtype, np.float32))
    hidden = np.isneginf(work)
    filled = np.where(hidden, -1e4, work)
    e = np.exp(filled - filled.max(axis=axis, keepdims=True))
    weights = e / e.sum(axis=axis, keepdims=True)
    return np.where(hidden.all(axis=axis, keepdims=True), 0.0, weights).astype(x.dtype)
