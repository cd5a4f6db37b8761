"""Misconception: sums without keepdims: on a square table the sums line up with the wrong axis, elsewhere
nothing fits.

Source (direct): https://huggingface.co/datasets/nvidia/Nemotron-CC-Math-v1 (copy of a Q&A thread: shapes (80, 3) and (80,))
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
    total = e.sum(axis=axis)
    return (e / np.where(total == 0, 1.0, total)).astype(x.dtype)
