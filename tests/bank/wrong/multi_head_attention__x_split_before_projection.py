"""Misconception: splits x into heads and gives every head a corner of the matrices, so that no head sees all of x.

Source (direct): aladdinpersson/Machine-Learning-Collection#3; MarcoMeter/episodic-transformer-memory-ppo#22
"""
import numpy as np


def attend(q, k, v, scale, keep):
    s = np.einsum("...qd,...kd->...qk", q, k) * scale
    if keep is not None:
        s = np.where(keep, s, -np.inf)
    m = s.max(-1, keepdims=True)
    e = np.exp(s - np.where(np.isfinite(m), m, 0))
    z = e.sum(-1, keepdims=True)
    return (e / np.where(z > 0, z, 1)) @ v


def multi_head_attention(x, Wq, Wk, Wv, Wo, n_heads, mask=None):
    d = x.shape[-1] // n_heads
    out = []
    for h in range(n_heads):
        c = slice(h * d, (h + 1) * d)
        keep = mask
        if mask is not None and mask.ndim == 4:
            keep = mask[:, h]
        part = x[:, :, c]
        out.append(attend(part @ Wq[c, c], part @ Wk[c, c], part @ Wv[c, c], d ** -0.5, keep))
    return np.concatenate(out, axis=-1) @ Wo
