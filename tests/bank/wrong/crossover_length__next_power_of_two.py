"""Misconception: searches by doubling, and returns the first power of two at which the pairs cost as much.

Source: no public issue known; right for every d_model that is itself a power of two
"""


def crossover_length(d_model):
    length = 1
    while 4 * length * length * d_model < 8 * length * d_model * d_model:
        length *= 2
    return length
