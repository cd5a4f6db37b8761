"""Correct but unusual: changes one later input at a time, from the last backwards, and keeps the smallest find.
"""
import numpy as np


def first_leak(fn, x):
    x = np.array(x, dtype=np.float64)
    base = np.array(fn(x.copy()), dtype=np.float64)
    if not np.isfinite(base).all():
        raise ValueError("fn(x) is not finite")
    smallest = len(x)
    for j in range(len(x) - 1, 0, -1):
        for delta in (1.0, -1.0, 100.0, -100.0, 3.7):
            y = x.copy()
            y[j] += delta
            out = np.array(fn(y), dtype=np.float64)
            if not np.isfinite(out).all():
                raise ValueError("fn of a changed x is not finite")
            moved = np.flatnonzero(np.abs(out - base)[:j].max(axis=-1) > 1e-9)
            if moved.size:
                smallest = min(smallest, int(moved[0]))
    return smallest if smallest < len(x) else None
