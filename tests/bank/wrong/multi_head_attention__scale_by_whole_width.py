"""Misconception: divides by the root of d_model instead of the width of one head.

Source (direct): omihub777/ViT-CIFAR#11; lucidrains/vit-pytorch#65; chelsea0x3b/dfdx#171
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
    B, S, C = x.shape
    def heads(W):
        return (x @ W).reshape(B, S, n_heads, -1).transpose(0, 2, 1, 3)
    keep = mask[:, None] if mask is not None and mask.ndim == 3 else mask
    y = attend(heads(Wq), heads(Wk), heads(Wv), C ** -0.5, keep)
    return y.transpose(0, 2, 1, 3).reshape(B, S, C) @ Wo
