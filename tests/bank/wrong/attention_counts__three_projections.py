"""Misconception: counts the projections to queries, keys and values, and forgets the output projection.

Source (analogue): pytorch/torchtitan#4366 (a matrix product left out of the count)
"""


def attention_counts(seq_len, d_model, n_heads, bytes_per_element=4):
    pairs = seq_len * seq_len
    counts = {}
    counts["qk_flops"] = 2 * pairs * d_model
    counts["pv_flops"] = 2 * pairs * d_model
    counts["projection_flops"] = sum(2 * seq_len * d_model * d_model for _ in ("q", "k", "v"))
    counts["total_flops"] = counts["qk_flops"] + counts["pv_flops"] + counts["projection_flops"]
    counts["scores_bytes"] = n_heads * pairs * bytes_per_element
    return counts
