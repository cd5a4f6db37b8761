"""Misconception: compares with np.allclose, whose default forgives 0.00001 of every value: a small leak passes.

Source (direct): Xilinx/mlir-air#1427; analogue: sign/WeLT#22 (a look-ahead test with a tolerance of 1e-4)
"""
import numpy as np


def first_leak(fn, x):
    base = np.asarray(fn(x)).copy()
    if not np.isfinite(base).all():
        raise ValueError("fn(x) is not finite")
    for i in range(x.shape[0] - 1):
        for delta in (1.0, 100.0, -1.0, -100.0):
            y = np.array(x, dtype=float)
            y[i + 1:] += delta
            out = np.asarray(fn(y))
            if not np.isfinite(out).all():
                raise ValueError("fn of a changed x is not finite")
            if not np.allclose(out[i], base[i]):
                return i
    return None
