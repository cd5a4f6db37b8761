"""Misconception: the rule of thumb that attention is quadratic "once S exceeds d_model", taken for equality.

Source: no public issue known; the pairs are a third of the work there
"""


def crossover_length(d_model):
    return d_model
