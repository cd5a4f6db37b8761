"""Misconception: returns prompt and new tokens in one list, as many libraries do.

Source (analogue): karpathy/nanoGPT, whose generate returns the prompt too
"""
import numpy as np


def generate(step, prompt, n_tokens, rng, temperature=1.0):
    ids = np.array(prompt)
    logits = step(ids)
    for i in range(n_tokens):
        if i:
            logits = step(ids[-1:])
        last = logits[-1]
        if temperature == 0:
            nxt = np.argmax(last)
        else:
            e = np.exp(last / temperature - np.max(last / temperature))
            nxt = rng.choice(len(last), p=e / np.sum(e))
        ids = np.append(ids, nxt)
    return ids
