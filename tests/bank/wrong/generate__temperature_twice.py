"""Misconception: the logits are divided by the temperature in two places.

Source (direct): RL-Align/RL-Kernel#81
"""
import numpy as np


def _softmax(row, temperature):
    z = row / temperature
    z = np.exp(z - z.max())
    return z / z.sum()


def generate(step, prompt, n_tokens, rng, temperature=1.0):
    logits = step(list(prompt))
    answer = []
    for i in range(n_tokens):
        row = logits[-1]
        if temperature == 0:
            answer.append(int(np.argmax(row)))
        else:
            row = row / temperature
            answer.append(int(rng.choice(len(row), p=_softmax(row, temperature))))
        if i < n_tokens - 1:
            logits = step(answer[-1:])
    return answer
