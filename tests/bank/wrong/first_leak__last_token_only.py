"""Misconception: edits the last token once and looks at all outputs before it: a position that sees its neighbour
only is missed.

Source (direct): karpathy/nanochat#845 (several prefix lengths are tried for this reason); rasbt/LLMs-from-scratch#1062
"""
import numpy as np


def first_leak(fn, x):
    a = np.array(fn(x))
    if not np.isfinite(a).all():
        raise ValueError("not finite")
    moved = np.zeros(len(x) - 1, dtype=bool)
    for step in (1.0, -1.0, 100.0, -100.0):
        y = np.array(x, dtype=np.float64)
        y[-1] += step
        b = np.array(fn(y))
        if not np.isfinite(b).all():
            raise ValueError("not finite")
        moved |= (np.abs(a - b).max(axis=-1) > 1e-9)[:-1]
    return int(np.flatnonzero(moved)[0]) if moved.any() else None
