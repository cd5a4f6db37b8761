"""Misconception: lets np.exp choose the type for integers: 8-bit scores are computed in float16.

Source (analogue): rsokl/MyGrad#193; pymc-devs/pytensor#857
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    work = x.astype(np.promote_types(x.dtype, np.float32)) if x.dtype.kind == "f" else x.astype(int)
    top = work.max(axis=axis, keepdims=True)
    top = np.where(np.isneginf(top), 0, top).astype(work.dtype)
    kind = np.exp(x.flat[:1]).dtype
    e = np.exp(work - top)
    total = e.sum(axis=axis, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0).astype(kind)
