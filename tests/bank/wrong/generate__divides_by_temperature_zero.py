"""Misconception: divides by the temperature also when it is 0.

Source (direct): google-deepmind/gemma#562, karpathy/nanoGPT#546
"""
import numpy as np


def generate(step, prompt, n_tokens, rng, temperature=1.0):
    out = []
    logits = step(list(prompt))
    while True:
        scaled = logits[-1] / temperature
        scaled = scaled - scaled.max()
        p = np.exp(scaled)
        p = p / p.sum()
        out.append(int(rng.choice(p.size, p=p)))
        if len(out) == n_tokens:
            return out
        logits = step([out[-1]])
