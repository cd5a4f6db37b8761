"""Correct but unusual: one uniform number, looked up among the cumulative weights.
"""
import numpy as np


def generate(step, prompt, n_tokens, rng, temperature=1.0):
    out = np.empty(n_tokens, dtype=np.int64)
    logits = step(np.array(prompt))
    for i in range(n_tokens):
        if i > 0:
            logits = step(out[i - 1 : i])
        row = logits[-1]
        if temperature == 0:
            out[i] = row.argmax()
            continue
        w = np.exp((row - row.max()) / temperature)
        cdf = w.cumsum() / w.sum()
        out[i] = np.searchsorted(cdf, rng.random(), side="right")
    return out
