"""Correct but unusual: a sum that is never below the smallest step of float32; a shifted sum is 0 or at least
1.

Source (analogue): paiml/trueno#190 (its fix)
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    work = x.astype(np.promote_types(x.dtype, np.float32))
    top = work.max(axis=axis, keepdims=True)
    top = np.where(np.isneginf(top), 0.0, top).astype(work.dtype)
    e = np.exp(work - top)
    total = np.maximum(e.sum(axis=axis, keepdims=True), np.finfo(np.float32).eps)
    return (e / total).astype(x.dtype)
