"""Misconception: writes its fill for −inf into the caller's scores.

Source (analogue): JuliaGPU/CUDA.jl#592
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    hidden = np.isneginf(x)
    if hidden.any():
        x = x if x.flags.writeable else x.copy()
        x[hidden] = np.finfo(x.dtype).min
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    work = x.astype(np.promote_types(x.dtype, np.float32))
    e = np.exp(work - work.max(axis=axis, keepdims=True)) * ~hidden
    total = e.sum(axis=axis, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0).astype(x.dtype)
