"""Misconception: makes a generator of its own from a fixed seed, whatever rng it is given.

Source (analogue): a usual way to make a notebook give the same text at each run
"""
import numpy as np


def generate(step, prompt, n_tokens, rng, temperature=1.0):
    rng = np.random.default_rng(0)
    fresh = list(prompt)
    produced = []
    while len(produced) < n_tokens:
        lg = step(fresh)[-1]
        if temperature == 0:
            choice = int(lg.argmax())
        else:
            lg = lg / temperature
            pr = np.exp(lg - lg.max())
            choice = int(rng.choice(lg.size, p=pr / pr.sum()))
        produced.append(choice)
        fresh = [choice]
    return produced
