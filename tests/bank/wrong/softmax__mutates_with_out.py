"""Misconception: saves memory with out= and so computes in the caller's array.

Source (direct): JuliaGPU/CUDA.jl#592
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    place = x if x.flags.writeable else x.copy()
    top = x.max(axis=axis, keepdims=True)
    work = x.astype(np.promote_types(x.dtype, np.float32))
    e = np.exp(work - np.where(np.isneginf(top), 0, top).astype(work.dtype))
    total = e.sum(axis=axis, keepdims=True)
    np.copyto(place, np.divide(e, total, out=np.zeros_like(e), where=total > 0), casting="same_kind")
    return place
