"""The right answers, slow and obvious: plain loops and math.fsum, an independent route to
every expected value. Imports nothing of ours."""

import math
from collections.abc import Sequence

import numpy as np

NOTHING = -math.inf


def softmax_row(row: Sequence[float]) -> list[float]:
    """The softmax of one row of scores; a row that is −inf throughout gives zeros.

    Bridle (1990) for the function; zeros for an empty choice are this course's convention.
    """
    highest = max(row)
    if highest == NOTHING:
        return [0.0] * len(row)
    exponentials = [math.exp(score - highest) for score in row]
    total = math.fsum(exponentials)
    return [exponential / total for exponential in exponentials]


def softmax(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    """The softmax of every slice along `axis`, in float64; `scores` (…) → weights (…)."""
    rows = np.moveaxis(np.asarray(scores, dtype=np.float64), axis, -1)
    weights = np.zeros(rows.shape)
    for index in np.ndindex(*rows.shape[:-1]):
        weights[index] = softmax_row([float(score) for score in rows[index]])
    return np.moveaxis(weights, -1, axis)


# --- 02 attention -----------------------------------------------------------------------------


def dot(left: Sequence[float], right: Sequence[float]) -> float:
    """The dot product of two vectors of the same length."""
    return math.fsum(float(a) * float(b) for a, b in zip(left, right, strict=True))


def attention(
    Q: np.ndarray,
    K: np.ndarray,
    V: np.ndarray,
    mask: np.ndarray | None = None,
    scale: float | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Output and weights of every query, one at a time (Vaswani et al., 2017).

    Q (…, S_q, d_k), K (…, S_k, d_k), V (…, S_k, d_v); `mask` is True where a query may attend and
    broadcasts to (…, S_q, S_k). A query that may attend to nothing gets zeros.
    """
    factor = 1 / math.sqrt(Q.shape[-1]) if scale is None else scale
    weights = np.zeros((*Q.shape[:-1], K.shape[-2]))
    output = np.zeros((*Q.shape[:-1], V.shape[-1]))
    allowed = np.broadcast_to(True if mask is None else mask, weights.shape)
    for index in np.ndindex(*Q.shape[:-1]):
        keys, values = K[index[:-1]], V[index[:-1]]
        scores = [
            factor * dot(Q[index], key) if may else NOTHING
            for key, may in zip(keys, allowed[index], strict=True)
        ]
        weights[index] = softmax_row(scores)
        output[index] = [dot(weights[index], column) for column in values.T]
    return output, weights
