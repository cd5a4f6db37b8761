"""Misconception: takes the sigmoid of each score by itself.
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    work = x.astype(np.promote_types(x.dtype, np.float32))
    return np.where(work >= 0, 1 / (1 + np.exp(-np.abs(work))), 1 - 1 / (1 + np.exp(-np.abs(work)))).astype(x.dtype)
