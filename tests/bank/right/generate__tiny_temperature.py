"""Correct but unusual: a temperature of 0 is replaced by a tiny one before a stable softmax.
"""
import numpy as np


def generate(step, prompt, n_tokens, rng, temperature=1.0):
    temperature = max(temperature, 1e-6)
    feed, tokens = list(prompt), []
    for _ in range(n_tokens):
        row = np.asarray(step(feed), dtype=np.float64)[-1]
        z = (row - row.max()) / temperature
        p = np.exp(z)
        token = int(rng.multinomial(1, p / p.sum()).argmax())
        tokens.append(token)
        feed = [token]
    return tokens
