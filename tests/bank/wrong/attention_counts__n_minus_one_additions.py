"""Misconception: a sum of n products takes n - 1 additions (true by hand, not what the field counts).

Source (direct): open-mmlab/mmcv#785
"""


def attention_counts(seq_len, d_model, n_heads, bytes_per_element=4):
    def product(n, k, m):
        return n * m * (k + k - 1)

    d_head = d_model // n_heads
    qk = n_heads * product(seq_len, d_head, seq_len)
    pv = n_heads * product(seq_len, seq_len, d_head)
    proj = 4 * product(seq_len, d_model, d_model)
    return dict(qk_flops=qk, pv_flops=pv, projection_flops=proj, total_flops=qk + pv + proj,
                scores_bytes=n_heads * seq_len * seq_len * bytes_per_element)
