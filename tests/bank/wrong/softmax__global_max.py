"""Misconception: subtracts the largest score of the whole table: rows far below it vanish.

Source (direct): githubharald/CTCWordBeamSearch#19 (np.max over everything)
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    work = x.astype(np.promote_types(x.dtype, np.float32))
    top = work.max()
    e = np.exp(work - np.where(np.isneginf(top), 0.0, top).astype(work.dtype))
    total = e.sum(axis=axis, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0).astype(x.dtype)
