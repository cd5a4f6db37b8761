"""Misconception: multiplies by the number of heads although the heads share the width.

Source (analogue): jranaraki/vllm-fit#2 (an extra factor num_attention_heads beside hidden_size)
"""


def attention_counts(seq_len, d_model, n_heads, bytes_per_element=4):
    scores = n_heads * 2 * seq_len * seq_len * d_model
    linear = 8 * seq_len * d_model * d_model
    return {
        "qk_flops": scores,
        "pv_flops": scores,
        "projection_flops": linear,
        "total_flops": scores + scores + linear,
        "scores_bytes": n_heads * seq_len * seq_len * bytes_per_element,
    }
