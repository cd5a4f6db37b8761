"""Misconception: divides the exponentials by the temperature, which cancels in the sum.

Source (direct): google/gemma.cpp#981
"""
import numpy as np


def generate(step, prompt, n_tokens, rng, temperature=1.0):
    tokens = []
    chunk = list(prompt)
    for _ in range(n_tokens):
        row = step(chunk)[-1]
        if temperature == 0:
            token = int(np.argmax(row))
        else:
            weights = np.exp(row - row.max()) / temperature
            weights /= weights.sum()
            token = int(np.searchsorted(np.cumsum(weights), rng.random()))
        tokens.append(token)
        chunk = [token]
    return tokens
