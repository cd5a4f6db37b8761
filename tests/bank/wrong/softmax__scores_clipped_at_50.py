"""Misconception: clips the scores to ±50 before exp: larger differences disappear, and so do differences
between large scores.

Source (analogue): fetchai/ledger#1611
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    work = x.astype(np.promote_types(x.dtype, np.float32))
    e = np.exp(np.clip(work, -50.0, 50.0)) * ~np.isneginf(work)
    total = e.sum(axis=axis, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0).astype(x.dtype)
