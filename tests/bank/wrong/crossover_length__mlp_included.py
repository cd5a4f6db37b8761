"""Misconception: holds the pairs against projections and the MLP together.

Source (analogue): verl-project/verl-omni#124 (attention and MLP in one sum of linear layers)
"""


def crossover_length(d_model):
    linear_per_token = 8 * d_model**2 + 16 * d_model**2
    pairs_per_token_and_key = 4 * d_model
    return linear_per_token / pairs_per_token_and_key
