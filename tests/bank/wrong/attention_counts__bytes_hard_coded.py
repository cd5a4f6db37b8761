"""Misconception: four bytes a score whatever the caller says.

Source (direct): jranaraki/vllm-fit#2 (a constant where the size of a number belongs)
"""


def attention_counts(seq_len, d_model, n_heads, bytes_per_element=4):
    qk = 2.0 * seq_len**2 * d_model
    proj = 8.0 * seq_len * d_model**2
    return {"qk_flops": qk, "pv_flops": qk, "projection_flops": proj, "total_flops": 2 * qk + proj,
            "scores_bytes": n_heads * seq_len**2 * 4}
