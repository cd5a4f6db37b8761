"""The right answers, slow and obvious: plain loops and math.fsum, an independent route to
every expected value. Imports nothing of ours."""

import math
from collections.abc import Callable, Iterable, Sequence

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


def dot(left: Iterable[float], right: Iterable[float]) -> float:
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


# --- 03 masks ---------------------------------------------------------------------------------


def causal_mask(q_len: int, k_len: int | None = None) -> np.ndarray:
    """True where key j is not after query i; the queries are the last q_len of k_len positions."""
    keys = q_len if k_len is None else k_len
    mask = np.zeros((q_len, keys), dtype=bool)
    for query, key in np.ndindex(q_len, keys):
        mask[query, key] = key <= keys - q_len + query
    return mask


def padding_mask(lengths: Sequence[int], k_len: int, side: str = "right") -> np.ndarray:
    """True on the real tokens of each sequence; (B, 1, k_len), the padding on the side named."""
    mask = np.zeros((len(lengths), 1, k_len), dtype=bool)
    for item, key in np.ndindex(len(lengths), k_len):
        length = int(lengths[item])
        mask[item, 0, key] = key < length if side == "right" else key >= k_len - length
    return mask


def document_mask(doc_ids: np.ndarray) -> np.ndarray:
    """True where query and key have the same id; (…, S) → (…, S, S)."""
    length = doc_ids.shape[-1]
    mask = np.zeros((*doc_ids.shape, length), dtype=bool)
    for index in np.ndindex(*doc_ids.shape[:-1]):
        for query, key in np.ndindex(length, length):
            mask[(*index, query, key)] = doc_ids[(*index, query)] == doc_ids[(*index, key)]
    return mask


def weighted_sums(weights: np.ndarray, V: np.ndarray) -> np.ndarray:
    """What the weights (…, S_q, S_k) make of the values (…, S_k, d_v): (…, S_q, d_v)."""
    output = np.zeros((*weights.shape[:-1], V.shape[-1]))
    for index in np.ndindex(*weights.shape[:-1]):
        output[index] = [dot(weights[index], column) for column in V[index[:-1]].T]
    return output


def first_leak(fn: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> int | None:
    """The first position whose output moves when later inputs do; every change is tried.

    Raises ValueError when `fn` gives something that is not finite.
    """
    before = finite(fn(x))
    for position in range(len(x) - 1):
        for change in (1.0, -1.0, 100.0, -100.0):
            edited = x.astype(np.float64)
            edited[position + 1 :] += change
            after = finite(fn(edited))
            if max(abs(after[position] - before[position])) > 1e-9:
                return position
    return None


def finite(values: np.ndarray) -> np.ndarray:
    """A copy of the values. Raises ValueError when one of them is NaN or infinite."""
    if not all(map(math.isfinite, values.flat)):
        raise ValueError("an output is not finite")
    return values.astype(np.float64)


# --- 09 a tiny language model -----------------------------------------------------------------

Gradients = tuple[np.ndarray, np.ndarray, np.ndarray]


def attention_backward(
    Q: np.ndarray,
    K: np.ndarray,
    V: np.ndarray,
    grad_out: np.ndarray,
    mask: np.ndarray | None = None,
    scale: float | None = None,
) -> Gradients:
    """The gradients of Σ grad_out ∘ output with respect to Q, K and V, a query at a time.

    Shapes as in `attention`, grad_out (…, S_q, d_v). The softmax's part is its Jacobian
    ∂w_j / ∂s_k = w_j (δ_jk − w_k), written out.
    """
    factor = 1 / math.sqrt(Q.shape[-1]) if scale is None else scale
    _, weights = attention(Q, K, V, mask, scale)
    dQ, dK, dV = (np.zeros(each.shape) for each in (Q, K, V))
    for index in np.ndindex(*Q.shape[:-1]):
        table, row, grad = index[:-1], weights[index], grad_out[index]
        up = [dot(grad, value) for value in V[table]]  # with respect to each weight
        for key, weight in enumerate(row):
            score = math.fsum(
                up[j] * other * ((j == key) - float(weight)) for j, other in enumerate(row)
            )
            dQ[index] += factor * score * K[table][key]
            dK[(*table, key)] += factor * score * Q[index]
            dV[(*table, key)] += weight * grad
    return dQ, dK, dV


def attention_slopes(
    Q: np.ndarray,
    K: np.ndarray,
    V: np.ndarray,
    grad_out: np.ndarray,
    mask: np.ndarray | None = None,
    scale: float | None = None,
) -> Gradients:
    """The same, measured: how Σ grad_out ∘ output changes when one number moves a little.

    Central differences with two steps, whose error falls with the step's fourth power.
    """
    parts = [np.array(each, dtype=np.float64) for each in (Q, K, V)]
    slopes = tuple(np.zeros(part.shape) for part in parts)
    step = 1e-3
    for part, slope in zip(parts, slopes, strict=True):
        for index in np.ndindex(*part.shape):
            number, loss = part[index], {}
            for times in (-2, -1, 1, 2):
                part[index] = number + times * step
                output, _ = attention(parts[0], parts[1], parts[2], mask, scale)
                loss[times] = float((grad_out * output).sum())
            part[index] = number
            slope[index] = (8 * (loss[1] - loss[-1]) - (loss[2] - loss[-2])) / (12 * step)
    return slopes  # type: ignore[return-value]


def generate(
    step: Callable[[list[int]], np.ndarray],
    prompt: Sequence[int],
    n_tokens: int,
    rng: np.random.Generator,
    temperature: float = 1.0,
) -> list[int]:
    """The n_tokens ids that follow the prompt; `step` maps new ids (n) to logits (n, V).

    Drawn by walking along the cumulative weights; temperature 0 takes the largest logit.
    """
    chosen: list[int] = []
    logits = step(list(prompt))[-1]
    while True:
        if temperature == 0:
            chosen.append(int(np.argmax(logits)))
        else:
            left, last = rng.random(), 0
            for token, weight in enumerate(softmax_row([float(x) / temperature for x in logits])):
                left, last = left - weight, token if weight else last
                if left < 0:
                    break
            chosen.append(last)
        if len(chosen) == n_tokens:
            return chosen
        logits = step([chosen[-1]])[-1]
