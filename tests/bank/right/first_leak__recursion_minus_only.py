"""Correct but unusual: recursion over positions, subtracts the two sizes only.
"""
import numpy as np


def first_leak(fn, x, i=0, base=None):
    def run(inputs):
        out = np.array(fn(inputs))
        if np.isnan(out).any() or np.isinf(out).any():
            raise ValueError("not finite")
        return out

    base = run(x) if base is None else base
    if i >= x.shape[0] - 1:
        return None
    keep = (np.arange(x.shape[0]) <= i)[:, None]
    for size in (100.0, 1.0):
        after = run(np.where(keep, x, x - size))
        if float(np.abs(after[i] - base[i]).max()) > 1e-9:
            return i
    return first_leak(fn, x, i + 1, base)
