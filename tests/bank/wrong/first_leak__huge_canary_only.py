"""Misconception: plants one huge value in the future: a leak that is blind to large inputs (a gate, an angle that
has gone round) is missed.

Source (direct): gmlwns2000/sea-attention#13 (a canary of 300000)
"""
import numpy as np


def first_leak(fn, x):
    base = fn(x)
    if np.isnan(base).any() or np.isinf(base).any():
        raise ValueError("nan or inf in fn(x)")
    for t in range(x.shape[0] - 1):
        canary = x.copy()
        canary[t + 1:, :] = 300000.0
        out = fn(canary)
        if np.isnan(out).any() or np.isinf(out).any():
            raise ValueError("nan or inf in fn(canary)")
        if (abs(out[t] - base[t]) > 1e-9).any():
            return t
    return None
