"""Misconception: returns the logarithm of the weights.

Source (direct): google-research/bert#765; soumith/imagenet-multiGPU.torch#106
"""
import numpy as np


def softmax(scores, axis=-1):
    x = np.asarray(scores)
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    work = x.astype(np.promote_types(x.dtype, np.float32))
    top = work.max(axis=axis, keepdims=True)
    top = np.where(np.isneginf(top), 0.0, top).astype(work.dtype)
    shifted = work - top
    total = np.exp(shifted).sum(axis=axis, keepdims=True)
    return (shifted - np.log(np.where(total == 0, 1.0, total))).astype(x.dtype)
