"""Misconception: works on floats only: integers stop it.

Source (direct): pymc-devs/pytensor#857; tensorflow/tensorflow#39287
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    work = x.astype(np.promote_types(x.dtype, np.float32)) if x.dtype.kind == "f" else x
    work = work.copy()
    work -= np.where(np.isneginf(work.max(axis=axis, keepdims=True)), 0.0, work.max(axis=axis, keepdims=True))
    e = np.exp(work)
    total = e.sum(axis=axis, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0).astype(x.dtype)
