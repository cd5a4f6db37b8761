"""Misconception: demands the same bits: a right attention that shifts by a maximum over the whole table rounds
differently.

Source (direct): huggingface/transformers#48770 (asserts bit-identical logits)
"""
import numpy as np


def first_leak(fn, x):
    before = np.array(fn(x))
    if not np.isfinite(before).all():
        raise ValueError("not finite")
    for i in range(len(x) - 1):
        for d in (1, -1, 100, -100):
            z = x.astype(float)
            z[i + 1:] += d
            after = np.array(fn(z))
            if not np.isfinite(after).all():
                raise ValueError("not finite")
            if not np.array_equal(before[i], after[i]):
                return i
    return None
