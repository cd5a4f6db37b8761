"""Misconception: counts a multiplication and its addition as one operation, everywhere.

Source (direct): facebookresearch/fvcore#69; sovrasov/flops-counter.pytorch#40
"""


def attention_counts(seq_len, d_model, n_heads, bytes_per_element=4):
    def macs(n, k, m):
        return n * k * m

    d_head = d_model // n_heads
    out = {
        "qk_flops": n_heads * macs(seq_len, d_head, seq_len),
        "pv_flops": n_heads * macs(seq_len, seq_len, d_head),
        "projection_flops": 4 * macs(seq_len, d_model, d_model),
    }
    out["total_flops"] = sum(out.values())
    out["scores_bytes"] = n_heads * seq_len**2 * bytes_per_element
    return out
