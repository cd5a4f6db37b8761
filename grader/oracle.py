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


# --- 04 scaling -------------------------------------------------------------------------------


def peakedness(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest weight and the entropy in nats of every row; weights (…, S) → (…), (…).

    Shannon (1948); a weight of 0 adds nothing.
    """
    largest, entropy = np.zeros(weights.shape[:-1]), np.zeros(weights.shape[:-1])
    for index in np.ndindex(*weights.shape[:-1]):
        row = [float(weight) for weight in weights[index]]
        largest[index] = max(row)
        entropy[index] = math.fsum(-weight * math.log(weight) for weight in row if weight > 0)
    return largest, entropy


def softmax_backward(weights: np.ndarray, grad: np.ndarray) -> np.ndarray:
    """The gradient with respect to the scores, by the Jacobian of each row written out.

    dw_j / ds_i = w_j (1 − w_j) where i = j, else −w_i w_j; weights and grad (…, S) → (…, S).
    """
    result = np.zeros(weights.shape)
    size = weights.shape[-1]
    for index in np.ndindex(*weights.shape[:-1]):
        row = [float(weight) for weight in weights[index]]
        for i in range(size):
            slopes = [row[j] * ((i == j) - row[i]) for j in range(size)]
            result[(*index, i)] = dot(slopes, grad[index])
    return result


# --- 05 multi-head ----------------------------------------------------------------------------


def split_heads(x: np.ndarray, n_heads: int) -> np.ndarray:
    """Head h is columns h·d … (h+1)·d−1; (B, S, d_model) → (B, H, S, d)."""
    items, length, width = x.shape
    d = width // n_heads
    heads = np.zeros((items, n_heads, length, d))
    for item, head, position, column in np.ndindex(*heads.shape):
        heads[item, head, position, column] = x[item, position, head * d + column]
    return heads


def merge_heads(x: np.ndarray) -> np.ndarray:
    """Each position's heads one beside the other; (B, H, S, d) → (B, S, H·d)."""
    items, n_heads, length, d = x.shape
    merged = np.zeros((items, length, n_heads * d))
    for item, head, position, column in np.ndindex(*x.shape):
        merged[item, position, head * d + column] = x[item, head, position, column]
    return merged


def product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The matrix product of two tables."""
    return np.array([[dot(row, column) for column in right.T] for row in left])


def grouped_query_attention(
    x: np.ndarray,
    Wq: np.ndarray,
    Wk: np.ndarray,
    Wv: np.ndarray,
    Wo: np.ndarray,
    n_heads: int,
    n_kv_heads: int,
    mask: np.ndarray | None = None,
    scale: float | None = None,
) -> np.ndarray:
    """Each head of each item by itself, head h with key/value head h // group (Ainslie et al.,
    2023); `scale` None means 1/√d, as ever."""
    d = x.shape[-1] // n_heads
    output = np.zeros((*x.shape[:-1], Wo.shape[-1]))
    for item, rows in enumerate(x):
        Q, K, V = product(rows, Wq), product(rows, Wk), product(rows, Wv)
        heads = []
        for head in range(n_heads):
            shared = head // (n_heads // n_kv_heads)
            own, its = slice(head * d, head * d + d), slice(shared * d, shared * d + d)
            allowed = mask_of(mask, item, head)
            heads.append(attention(Q[:, own], K[:, its], V[:, its], allowed, scale)[0])
        output[item] = product(np.hstack(heads), Wo)
    return output


def mask_of(mask: np.ndarray | None, item: int, head: int) -> np.ndarray | None:
    """What one head of one item may see: of two axes everything, of three one mask an item, of
    four one for each head."""
    if mask is None or mask.ndim == 2:
        return mask
    return np.asarray(mask[item] if mask.ndim == 3 else mask[item, head])


def multi_head_attention(
    x: np.ndarray,
    Wq: np.ndarray,
    Wk: np.ndarray,
    Wv: np.ndarray,
    Wo: np.ndarray,
    n_heads: int,
    mask: np.ndarray | None = None,
    scale: float | None = None,
) -> np.ndarray:
    """Every head with keys and values of its own (Vaswani et al., 2017)."""
    return grouped_query_attention(x, Wq, Wk, Wv, Wo, n_heads, n_heads, mask, scale)


# --- 06 cost ----------------------------------------------------------------------------------


def product_flops(rows: int, inner: int, columns: int) -> int:
    """Multiplications and additions of one matrix product: each entry of the result is a sum
    that starts at 0, and takes `inner` of both."""
    return rows * columns * (inner + inner)


def attention_counts(
    seq_len: int, d_model: int, n_heads: int, bytes_per_element: int = 4
) -> dict[str, int]:
    """The work of one attention layer, matrix product by matrix product, and its table of scores.

    Every pair is counted, as without a mask.
    """
    d_head = d_model // n_heads
    heads = range(n_heads)
    counts = {
        "qk_flops": sum(product_flops(seq_len, d_head, seq_len) for _ in heads),
        "pv_flops": sum(product_flops(seq_len, seq_len, d_head) for _ in heads),
        "projection_flops": sum(product_flops(seq_len, d_model, d_model) for _ in "QKVO"),
    }
    counts["total_flops"] = sum(counts.values())
    counts["scores_bytes"] = sum(seq_len * seq_len * bytes_per_element for _ in heads)
    return counts


def crossover_length(d_model: int) -> int:
    """The first length at which the products of pairs cost as much as the projections."""
    length = 1
    while product_flops(length, d_model, length) < 2 * product_flops(length, d_model, d_model):
        length += 1
    return length


def kv_cache_bytes(
    seq_len: int, n_layers: int, n_kv_heads: int, d_head: int, bytes_per_element: int = 2
) -> int:
    """Keys and values of every layer, head by head."""
    tables = [seq_len * d_head for _ in range(n_layers) for _ in range(n_kv_heads) for _ in "KV"]
    return sum(tables) * bytes_per_element


def sliding_window_mask(q_len: int, window: int) -> np.ndarray:
    """True where key j is the query i or one of the `window` − 1 positions before it."""
    mask = np.zeros((q_len, q_len), dtype=bool)
    for query in range(q_len):
        for steps_back in range(window):
            if steps_back <= query:
                mask[query, query - steps_back] = True
    return mask


# --- 08 KV cache ------------------------------------------------------------------------------


class KVCache:
    """Keys and values of the tokens so far, as a list for each token."""

    def __init__(self) -> None:
        self._keys: list[np.ndarray] = []
        self._values: list[np.ndarray] = []

    def append(self, k: np.ndarray, v: np.ndarray) -> None:
        """Remember new tokens: k (…, n, d_k), v (…, n, d_v)."""
        for position in range(k.shape[-2]):
            self._keys.append(k[..., position, :].copy())
            self._values.append(v[..., position, :].copy())

    @property
    def keys(self) -> np.ndarray:
        """The keys of all tokens, (…, S, d_k)."""
        return np.stack(self._keys, axis=-2)

    @property
    def values(self) -> np.ndarray:
        """The values of all tokens, (…, S, d_v)."""
        return np.stack(self._values, axis=-2)

    def __len__(self) -> int:
        return len(self._keys)


def decode_step(q: np.ndarray, k: np.ndarray, v: np.ndarray, cache: KVCache) -> np.ndarray:
    """The outputs of new tokens, each of which sees all up to itself (Shazeer, 2019)."""
    cache.append(k, v)
    mask = causal_mask(q.shape[-2], len(cache))
    return attention(q, cache.keys, cache.values, mask)[0]


def position_ids(lengths: Sequence[int], k_len: int, side: str = "right") -> np.ndarray:
    """0, 1, 2 … over the real tokens of each sequence, 0 on padding; (B, k_len)."""
    ids = np.zeros((len(lengths), k_len), dtype=np.int64)
    for item, length in enumerate(int(n) for n in lengths):
        first = 0 if side == "right" else k_len - length
        for position in range(length):
            ids[item, first + position] = position
    return ids


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
