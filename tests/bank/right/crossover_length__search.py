"""Correct but unusual: tries one length after the other until the pairs cost as much as the projections.
"""
import itertools


def crossover_length(d_model):
    projections = lambda s: 4 * (2 * s * d_model * d_model)
    pairs = lambda s: 2 * s * s * d_model + 2 * s * s * d_model
    return next(s for s in itertools.count(1) if pairs(s) >= projections(s))
