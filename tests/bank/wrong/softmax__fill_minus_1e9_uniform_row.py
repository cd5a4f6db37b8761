"""Misconception: replaces −inf by −1e9 and forgets the row that holds nothing else: it comes out uniform.

Source (direct): ml-explore/mlx#2395 (values that are neither zeros nor NaN)
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    work = x.astype(np.promote_types(x.dtype, np.float32))
    work = np.where(np.isneginf(work), -1e9, work)
    e = np.exp(work - work.max(axis=axis, keepdims=True))
    return (e / e.sum(axis=axis, keepdims=True)).astype(x.dtype)
