"""Correct but unusual: lets the model read the last token as well, in plain Python.
"""
import math


def generate(step, prompt, n_tokens, rng, temperature=1.0):
    row = step(list(prompt))[-1].tolist()
    new = []
    for _ in range(n_tokens):
        if temperature == 0:
            token = max(range(len(row)), key=row.__getitem__)
        else:
            top = max(row)
            weights = [math.exp((x - top) / temperature) for x in row]
            u = rng.random() * sum(weights)
            for token, weight in enumerate(weights):
                u -= weight
                if u < 0:
                    break
        new.append(token)
        row = step([token])[-1].tolist()
    return new
