"""Misconception: one draw of unit noise is taken for "any change": a leak that opens for large inputs stays shut.

Source (analogue): huggingface/transformers#48760 (regression tests that modify future tokens)
"""
import numpy as np


def first_leak(fn, x):
    rng = np.random.default_rng(0)
    base = np.asarray(fn(x))
    if not np.all(np.isfinite(base)):
        raise ValueError("not finite")
    for i in range(len(x) - 1):
        y = x.copy()
        y[i + 1:] = y[i + 1:] + rng.standard_normal(y[i + 1:].shape)
        out = np.asarray(fn(y))
        if not np.all(np.isfinite(out)):
            raise ValueError("not finite")
        if np.max(np.abs(out[i] - base[i])) > 1e-9:
            return i
    return None
