"""Misconception: halves the products of pairs for the causal mask, so that the length comes out doubled.

Source (analogue): AI-Hypercomputer/maxtext#2031; verl-project/verl#6389
"""


def crossover_length(d_model):
    s = 1
    while 2 * s * s * d_model < 8 * s * d_model * d_model:
        s += 1
    return s
