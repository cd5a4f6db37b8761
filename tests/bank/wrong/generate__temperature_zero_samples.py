"""Misconception: a temperature of 0 counts as none, and tokens are drawn as at 1.

Source (direct): inclusionAI/LLaDA2.X#6, Lightning-AI/litgpt#2239
"""
import numpy as np


def generate(step, prompt, n_tokens, rng, temperature=1.0):
    new, feed = [], list(prompt)
    for _ in range(n_tokens):
        row = step(feed)[-1]
        if temperature:
            row = row / temperature
        e = np.exp(row - np.max(row))
        feed = [rng.choice(len(row), p=e / e.sum())]
        new += feed
    return new
