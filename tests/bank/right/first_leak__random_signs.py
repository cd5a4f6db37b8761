"""Correct but unusual: random signs, both sizes, positions as a generator, a NumPy integer comes back.
"""
import numpy as np


def _moves(fn, x, base, i, rng):
    for size in (1.0, 100.0):
        y = x.copy()
        y[i + 1:] += size * rng.choice([-1.0, 1.0], size=y[i + 1:].shape)
        out = np.asarray(fn(y), dtype=float)
        if not np.isfinite(out).all():
            raise ValueError("not finite")
        if np.linalg.norm(out[i] - base[i], ord=np.inf) > 1e-9:
            return True
    return False


def first_leak(fn, x):
    rng = np.random.default_rng(12345)
    base = np.asarray(fn(x), dtype=float).copy()
    if not np.isfinite(base).all():
        raise ValueError("not finite")
    leaks = (i for i in np.arange(len(x) - 1) if _moves(fn, x, base, i, rng))
    return next(leaks, None)
