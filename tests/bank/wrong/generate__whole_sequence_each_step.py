"""Misconception: passes everything again at each step to a model that keeps a cache.

Source (direct): iCog-Labs-Dev/PC-Transformers#129
"""
import numpy as np


def generate(step, prompt, n_tokens, rng, temperature=1.0):
    ids = list(prompt)
    for _ in range(n_tokens):
        logits = step(ids)[-1]
        if temperature == 0:
            nxt = int(logits.argmax())
        else:
            z = (logits - logits.max()) / temperature
            probs = np.exp(z) / np.exp(z).sum()
            nxt = int(rng.choice(len(probs), p=probs))
        ids.append(nxt)
    return ids[len(prompt):]
