"""Misconception: reads the logits after the first token of the call.

Source (analogue): a row too early, as in skyzh/tiny-llm#46 (an offset counted wrongly after the prompt)
"""
import numpy as np


def generate(step, prompt, n_tokens, rng, temperature=1.0):
    result = []
    logits = step(list(prompt))[0]
    for k in range(n_tokens):
        if temperature == 0:
            t = int(np.argmax(logits))
        else:
            w = np.exp((logits - logits.max()) / temperature)
            t = int(rng.choice(len(w), p=w / w.sum()))
        result.append(t)
        if k + 1 < n_tokens:
            logits = step([t])[0]
    return result
