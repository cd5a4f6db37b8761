"""Lesson 03: what the three masks, the attention under a mask and `first_leak` must do.

Expected values come from the oracle or from algebra; no check relies on another."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from grader import oracle
from grader.checks import leaks
from grader.checks.ask import (
    FLOAT32,
    FLOAT64,
    Answer,
    Tolerance,
    asking,
    kind_of,
    passed,
    shown_apart,
)
from grader.checks.diagnose import graded
from grader.checks.leaks import Example
from grader.checks.shrink import on_smallest
from grader.checks.tables import long_axes, must_be_boolean, must_be_mask
from grader.misconceptions import leaks as _named_leaks  # noqa: F401  (registers them)
from grader.misconceptions import masks as _named  # noqa: F401
from grader.seeds import generator

ask_causal = asking("causal_mask")
ask_padding = asking("padding_mask")
ask_document = asking("document_mask")
ask = asking("scaled_dot_product_attention")
ask_leak = asking("first_leak")

# Calls by which mistakes are told apart that fail alike in a cell: without a mask, with an ordinary
# one, with a hidden key that scores highest.
_SQUARE = np.array([[1.0, 0.5], [0.25, 1.0], [0.75, 0.5]])
_CAUSAL = oracle.causal_mask(3)
PLAIN = (_SQUARE, np.array([[0.5, 1.0], [1.0, 0.0], [0.25, 0.25]]), _SQUARE)
MASKED = (*PLAIN, _CAUSAL)
OUTSHONE = (np.array([[60.0]]), np.array([[0.0], [0.5], [30.0]]), np.eye(3), _CAUSAL[1:2])
TELLING = (PLAIN, MASKED, OUTSHONE)

WHY_ROOT = "The scores are the dot products divided by √d_k, the root of the width of the keys."
WHY_MIX = "The output of a query is the sum of the values, each times its weight."

# --- causal_mask ------------------------------------------------------------------------------


@graded("causal_mask", about="square")
def causal_square(causal_mask: Any) -> None:
    """As many keys as queries: by hand for three positions, then other lengths."""
    why = (
        "Row i is query i, column j is key j, and True means: i may attend to j. "
        "A position sees itself and what comes before it."
    )
    for length in (3, 1, 2, 5, _any_length("causal_square")):
        seen = ask_causal(causal_mask, length)
        must_be_mask(seen, oracle.causal_mask(length), why)
    passed("causal_mask lets each position see itself and those before it", seen)


@graded("causal_mask", about="cache", also=((3,),))
def causal_cache(causal_mask: Any) -> None:
    """More keys than queries: the queries are the last positions."""
    some = _any_length("causal_cache")
    for queries, keys in [(1, 4), (2, 3), (3, 5), (3, 3), (some, some + 3)]:
        why = (
            f"With q_len={queries} and k_len={keys} the queries are the last positions: "
            f"query 0 is position {keys - queries}, and sees all up to that."
        )
        seen = ask_causal(causal_mask, queries, keys)
        must_be_mask(seen, oracle.causal_mask(queries, keys), why)
    seen = ask_causal(causal_mask, 2, k_len=4)
    must_be_mask(seen, oracle.causal_mask(2, 4), "k_len may be given by its name.")
    passed("causal_mask knows that with more keys the queries are the last positions", seen)


@graded("causal_mask", about="form")
def causal_boolean(causal_mask: Any) -> None:
    """A boolean array of shape (q_len, k_len)."""
    for lengths in [(2,), (2, 3), (_any_length("causal_boolean"),)]:
        seen = ask_causal(causal_mask, *lengths)
        must_be_boolean(seen, (lengths[0], lengths[-1]))
    passed("causal_mask returns a boolean array of shape (q_len, k_len)", seen)


# --- padding_mask -----------------------------------------------------------------------------
# The content is compared whatever the shape, so that a missing axis costs only the form's point.


@graded("padding_mask", about="content")
def padding_right(padding_mask: Any) -> None:
    """Padding on the right, from lengths in a list or an array."""
    why = "The first tokens of each sequence are real, as many as its length; the rest is padding."
    _must_pad(padding_mask, [3, 1], 4, why)
    lengths = generator("padding_right").integers(0, 6, 3)
    _must_pad(padding_mask, lengths, 5, why)
    why = "A sequence may be empty, or as long as the batch is wide."
    seen = _must_pad(padding_mask, [0, 2, 1], 2, why, side="right")
    passed("padding_mask marks the real tokens of each sequence", seen)


@graded("padding_mask", about="side", also=(([3, 1], 4),))
def padding_left(padding_mask: Any) -> None:
    """Padding on the left: the real tokens are the last ones."""
    why = 'With side="left" the padding comes first, and the real tokens are the last ones.'
    _must_pad(padding_mask, [3, 1], 4, why, side="left")
    lengths = generator("padding_left").integers(0, 6, 3)
    _must_pad(padding_mask, lengths, 5, why, side="left")
    seen = _must_pad(padding_mask, [0, 2, 1], 2, why, side="left")
    passed('padding_mask puts the real tokens at the end for side="left"', seen)


@graded("padding_mask", about="form")
def padding_form(padding_mask: Any) -> None:
    """A boolean array of shape (B, 1, k_len); the lengths stay as they are."""
    for lengths in ([1, 2], generator("padding_form").integers(1, 4, 4), [3]):
        seen = ask_padding(padding_mask, lengths, 3)
        must_be_boolean(
            seen,
            (len(lengths), 1, 3),
            "The axis of length 1 lets one row serve every query of its sequence.",
        )
        seen.must_not_change()
    passed("padding_mask returns a boolean array of shape (B, 1, k_len)", seen)


def _must_pad(padding_mask: Any, lengths: Any, k_len: int, why: str, **side: str) -> Answer:
    seen = ask_padding(padding_mask, lengths, k_len, **side)
    expected = oracle.padding_mask(list(lengths), k_len, **side)
    must_be_mask(seen, expected, why)
    return seen


# --- document_mask ----------------------------------------------------------------------------


@graded("document_mask", about="content")
def document_values(document_mask: Any) -> None:
    """One sequence of ids: same id, any integers, 0 among them, and not causal."""
    why = "A pair is True when query and key have the same id, and only then."
    _must_pair(document_mask, np.array([7, 7, 8]), why)
    why = "0 and negative numbers are ids like any other."
    _must_pair(document_mask, np.array([0, 0, -2, 3]), why)
    why = "The same id is the same document, wherever it stands."
    _must_pair(document_mask, np.array([2, 1, 2]), why)
    ids = generator("document_values").integers(-3, 4, 6)
    why = "A pair is True when query and key have the same id, and only then."
    seen = on_smallest(lambda x: _must_pair(document_mask, x.astype(np.int64), why), ids)
    must_be_boolean(seen, (6, 6))
    passed("document_mask joins positions of the same id, and no others", seen)


@graded("document_mask", about="batch", also=((np.array([7, 7, 8]),), (np.array([0, -2, 3]),)))
def document_batch(document_mask: Any) -> None:
    """Leading axes: each sequence is compared with itself, as many sequences as positions too."""
    why = "Each sequence of the batch is compared with itself; the others do not come into it."
    _must_pair(document_mask, np.array([[1, 1, 2], [1, 2, 2]]), why)
    for shape in ((3, 3), (2, 4), (2, 1, 3)):
        ids = generator(f"document_batch{shape}").integers(0, 3, shape)
        seen = on_smallest(lambda x: _must_pair(document_mask, x.astype(np.int64), why), ids)
    seen.must_not_change()
    passed("document_mask treats every sequence of a batch by itself", seen)


def _must_pair(document_mask: Any, ids: np.ndarray, why: str) -> Answer:
    seen = ask_document(document_mask, ids)
    must_be_mask(seen, oracle.document_mask(ids), why)
    return seen


def _any_length(name: str) -> int:
    """A number of positions that nobody expects."""
    return int(generator(name).integers(6, 12))


# --- scaled_dot_product_attention -------------------------------------------------------------
# Only `scale` asks how the scores are scaled: the other checks compare with the scale that the
# weights show. Only `output` looks at the output, so that wrong values cost no other points.


@graded("scaled_dot_product_attention", about="formula")
def weights(attention: Any) -> None:
    """Without a mask: a softmax of query-key products along the keys, for any leading axes."""
    why = "Each row is a softmax over the keys, of this query's dot products with them."
    for lead in ((), (2,), (2, 3)):
        _on_smallest_case(lead, lambda Q, K, V: _must_weigh(attention, Q, K, V, why))
    Q, K, V = _case(_stack((2,)))
    strided = np.repeat(K, 2, axis=-1)[..., ::2]
    seen = ask(attention, Q, strided, V, note="K is a strided view")
    _must_be_weights(_weights_of(seen, Q, K), Q, K, why)
    passed("the weights are a softmax over the keys, with any axes in front", seen)


@graded("scaled_dot_product_attention", about="scale")
def scale(attention: Any) -> None:
    """1/√d_k unless told otherwise, and 0.0 is a number like any other: asked by ratios."""
    Q, K = np.zeros((1, 9)), np.zeros((2, 9))
    Q[0, 0], K[1, 0] = 3.0, np.log(3)
    why = "The dot products are 0 and 3 ln 3, and √9 = 3: the weights are 1/4 and 3/4."
    _must_have_ratios(attention, Q, K, np.eye(2), why)
    for lead in ((), (2,), (2, 3)):
        _on_smallest_case(lead, lambda Q, K, V: _must_have_ratios(attention, Q, K, V, WHY_ROOT))
    for factor in (0.25, 2.0, 1.0, 0.0):
        why = f"scale={factor} is given, so the scores are the dot products times {factor}."
        seen = _must_have_ratios(attention, *_case(_stack(())), why, scale=factor)
    passed("the scores are scaled by 1/√d_k, or by the scale that is given", seen)


@graded("scaled_dot_product_attention", about="output")
def output(attention: Any) -> None:
    """The output is the weighted sum of values, for d_v ≠ d_k and for axes of length 1."""
    Q, K, V = np.zeros((1, 3)), np.zeros((2, 3)), np.array([[1.0, 10.0], [3.0, 30.0]])
    _must_mix(attention, Q, K, V, WHY_MIX)
    for lead in ((), (2,), (2, 3)):
        _on_smallest_case(lead, lambda Q, K, V: _must_mix(attention, Q, K, V, WHY_MIX))
    for lead in ((1,), (1, 1)):
        why = "Axes of length 1 stay: who calls this counts on the shape."
        seen = _must_mix(attention, *_case(_stack(lead)[..., :1, :]), why)
    passed("the output is the weighted sum of the values, in the right shape", seen)


@graded("scaled_dot_product_attention", about="mask", also=(PLAIN,))
def hidden(attention: Any) -> None:
    """Hidden keys get exactly 0 and every row still sums to 1, however the mask broadcasts."""
    _must_hide(attention, *MASKED)
    causal, padding = oracle.causal_mask(2, 4), oracle.padding_mask([4, 1, 2], 4)
    _must_hide_all(attention, (), causal)
    _must_hide_all(attention, (2,), causal)
    _must_hide_all(attention, (3,), padding)
    _must_hide_all(attention, (3,), padding & causal)
    _must_hide_all(attention, (2, 2), oracle.padding_mask([3, 1], 4)[:, None])
    passed("hidden keys get weight 0, and the others share the 1")


@graded("scaled_dot_product_attention", about="dominant", also=TELLING)
def dominant(attention: Any) -> None:
    """A hidden key whose score is by far the largest leaves no trace."""
    why = (
        "The hidden key has by far the largest score. The others score alike, so they share the 1 "
        "as if the hidden one were not there."
    )
    size = float(generator("dominant").integers(300, 500))
    mask = np.array([[True, True, False]])
    for height in (2.0, size):
        K = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.25 * size, 0.0, 0.0]])
        Q = np.array([[height, 0.0, 0.0]])
        seen = _must_share(attention, Q, K, mask, why)
    passed("a hidden key has no effect, however large its score", seen)


@graded("scaled_dot_product_attention", about="range", also=TELLING)
def low(attention: Any) -> None:
    """All scores lie far below 0, or far above: with a mask, and without one."""
    depth = float(generator("low").integers(600, 900))
    for height, where in ((-depth, "below"), (-3.0, "below"), (depth, "above")):
        why = f"All scores are the same, far {where} 0, so visible keys share alike."
        Q, K = np.array([[height, 0.0, 0.0]]), np.array([[1000.0, 0.0, 0.0]] * 3)
        _must_share_alike(attention, Q, K, np.array([[False, True, True]]), why)
        seen = _must_share_alike(attention, Q, K, None, why)
    passed("visible keys get their share however low or high their scores are", seen)


@graded("scaled_dot_product_attention", about="empty", also=TELLING[:2])
def empty(attention: Any) -> None:
    """A query without any key: zero weights, zero output, and its neighbours undisturbed."""
    why = "This mask leaves a query without any key. Its weights and its output are zeros."
    Q, K, V = PLAIN
    mask = np.array([[True, True, False], [False, False, False], [True, False, False]])
    mask = generator("empty").permuted(mask, axis=1)
    _must_be_empty(attention, Q, K, V, mask, why)
    Q, K, V = np.stack([Q[:2], Q[1:]]), np.stack([K, K[::-1]]), np.stack([V, V])
    seen = _must_be_empty(attention, Q, K, V, oracle.padding_mask([2, 0], 3), why)
    passed("a query that may see nothing gets zeros, and nothing is NaN", seen)


@graded("scaled_dot_product_attention", about="kinds")
def kinds(attention: Any) -> None:
    """Integers and float32."""
    for kind in (np.int64, np.int32, np.float32):
        Q, K, _ = (np.trunc(part).astype(kind) for part in _case(2 * _stack(())))
        why = f"Weights of {Q.dtype} arrays are fractions like any other."
        tolerance = FLOAT32 if kind is np.float32 else FLOAT64
        seen = ask(attention, Q, K, K)  # keys for values: which is which is no matter here
        found = _weights_of(seen, Q, K)
        values = _must_be_weights(found, Q, K, why, tolerance)
        _must_be_mixed(seen, values, K, why, tolerance)
    passed("integers and float32 are taken as they come", seen)


@graded("scaled_dot_product_attention", about="changes")
def unchanged(attention: Any) -> None:
    """Q, K, V and the mask are the same after the call, and may be read-only."""
    Q, K, V = _case(_stack(()))
    mask = oracle.causal_mask(2, 4)
    for given in ((Q, K, V, mask), (Q, K, V)):
        seen = ask(attention, *given)
        seen.must_not_change()
    locked = [part.copy() for part in (Q, K, V, mask)]
    for part in locked:
        part.flags.writeable = False
    seen = ask(attention, *locked, note="arrays that cannot be written to")
    passed("the caller's Q, K, V and mask stay as they were", seen)


# --- attention, shared ------------------------------------------------------------------------


def _stack(lead: tuple[int, ...]) -> np.ndarray:
    """Random numbers for Q, K and V in one array (…, 3, 4, 5), so that a case can be shrunk."""
    return generator(f"stack{lead}").normal(0.0, 1.0, (*lead, 3, 4, 5)).round(2)


def _case(stack: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Q (…, 2, d_k), K (…, 4, d_k) and V (…, 4, 5), cut out of a stack; fewer if it is smaller."""
    Q, K, V = (stack[..., part, :, :] for part in range(3))
    return Q[..., :2, :3].copy(), K[..., :3].copy(), V.copy()


def _on_smallest_case(
    lead: tuple[int, ...], judge: Callable[[np.ndarray, np.ndarray, np.ndarray], Answer]
) -> None:
    """Judge random Q, K and V with these leading axes; a failure is told on the smallest case."""

    def whole(stack: np.ndarray) -> None:
        if stack.shape[-3] == 3:  # not when shrinking took Q, K or V away
            judge(*_case(stack))

    on_smallest(whole, _stack(lead))


def _weights_of(seen: Answer, Q: np.ndarray, K: np.ndarray) -> Answer:
    """The answer's weights, as an answer of their own."""
    return _part(seen, 1, (*Q.shape[:-1], K.shape[-2]))


def _output_of(seen: Answer, Q: np.ndarray, V: np.ndarray, any_width: bool = False) -> Answer:
    """The answer's output. With `any_width` its last axis is not asked for, so that who mixes the
    keys loses only the point of the output."""
    output = seen.value[0]
    wide = any_width and isinstance(output, np.ndarray) and output.ndim > 0
    return _part(seen, 0, (*Q.shape[:-1], output.shape[-1] if wide else V.shape[-1]))


def _part(seen: Answer, index: int, shape: tuple[int, ...]) -> Answer:
    """Output or weights: the pair is there, and this half of it is an array of this shape.

    Axes of length 1 may be missing (none may be too many): only `output` asks for those.
    """
    pair = seen.value
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        seen.fail(f"returns {kind_of(pair)}", "It must return a pair: (output, weights).")
    names = "output, _" if index == 0 else "_, weights"
    value = pair[index]
    if isinstance(value, np.ndarray) and value.ndim < len(shape):
        value = value.reshape(shape) if long_axes(value.shape) == long_axes(shape) else value
    part = replace(seen, call=f"{names} = {seen.call}", seen=replace(seen.seen, value=value))
    part.must_be_array(shape)
    return part


def _must_weigh(attention: Any, Q: np.ndarray, K: np.ndarray, V: np.ndarray, why: str) -> Answer:
    seen = ask(attention, Q, K, V)
    _must_be_weights(_weights_of(seen, Q, K), Q, K, why)
    return seen


def _must_be_weights(
    found: Answer,
    Q: np.ndarray,
    K: np.ndarray,
    why: str,
    tolerance: Tolerance = FLOAT64,
) -> np.ndarray:
    """A softmax of the scores along the keys, whatever the scale."""
    expected = _expected(Q, K, None)
    values = _must_sum_to_one(found, expected, tolerance)
    factor = _scale_shown_by(values, _expected_scores(Q, K))
    same_scale = _expected(Q, K, factor) if factor > 0 else np.full_like(expected, np.nan)
    if not tolerance.allows(values, same_scale).all():
        found.fail("wrong weights", why, expected)
    return values


def _must_sum_to_one(
    found: Answer, expected: np.ndarray, tolerance: Tolerance = FLOAT64
) -> np.ndarray:
    """Finite, nowhere negative, and 1 in every row."""
    values = found.must_be_array(expected.shape)
    found.must_be_finite(values, "Weights are numbers from 0 to 1, never NaN.", expected)
    found.demand(bool((values >= 0).all()), "negative weights", "No weight is below 0.", expected)
    sums, ones = values.sum(axis=-1), expected.sum(axis=-1)
    if not tolerance.allows(sums, ones).all():
        told = shown_apart(sums, ones)[0]
        why = f"The weights of each query sum to 1. Here the rows sum to {told}."
        found.fail("sums are not 1", why, expected)
    return values


def _expected(Q: np.ndarray, K: np.ndarray, factor: float | None) -> np.ndarray:
    return oracle.attention(Q, K, K, None, factor)[1]


def _expected_scores(Q: np.ndarray, K: np.ndarray) -> np.ndarray:
    """The dot products of every query with every key."""
    scores = np.zeros((*Q.shape[:-1], K.shape[-2]))
    for index in np.ndindex(*scores.shape):
        scores[index] = oracle.dot(Q[index[:-1]], K[(*index[:-2], index[-1])])
    return scores


def _scale_shown_by(weights: np.ndarray, scores: np.ndarray) -> float:
    """The scale that the two weights show whose scores lie farthest apart; NaN if they cannot."""
    widest, shown = 0.0, 1.0
    for index in np.ndindex(*scores.shape[:-1]):
        low, high = int(np.argmin(scores[index])), int(np.argmax(scores[index]))
        apart = float(scores[index][high] - scores[index][low])
        if apart > widest:
            both = weights[index][[low, high]]
            widest = apart
            shown = float(np.log(both[1] / both[0]) / apart) if both.min() > 0 else np.nan
    return shown


def _must_have_ratios(
    attention: Any, Q: np.ndarray, K: np.ndarray, V: np.ndarray, why: str, **given: float
) -> Answer:
    """ln(w_j / w_0) is the difference of two dot products times the scale, in every row."""
    seen = ask(attention, Q, K, V, **given)
    found = _weights_of(seen, Q, K)
    expected = _expected(Q, K, given.get("scale"))
    values = found.must_be_array(expected.shape)
    found.must_be_finite(values, "Weights are numbers from 0 to 1, never NaN.", expected)
    found.demand(bool((values > 0).all()), "wrong ratios", why, expected)
    logs, wanted = (np.log(each) for each in (values, expected))
    apart = (logs - logs[..., :1]) - (wanted - wanted[..., :1])
    found.demand(bool((np.abs(apart) <= 1e-6).all()), "wrong ratios", why, expected)
    return seen


def _must_mix(attention: Any, Q: np.ndarray, K: np.ndarray, V: np.ndarray, why: str) -> Answer:
    """The output is what the weights that came with it make of the values; shapes are exact."""
    seen = ask(attention, Q, K, V)
    found, mixed = _weights_of(seen, Q, K), _output_of(seen, Q, V)
    values = found.must_be_array(found.value.shape)
    found.must_be_finite(values, "Weights are numbers from 0 to 1, never NaN.")
    _must_be_mixed(seen, values, V, why)
    for part, whole in zip(seen.value, (mixed, found), strict=True):
        replace(whole, seen=replace(seen.seen, value=part)).must_be_array(whole.value.shape)
    return seen


def _must_be_mixed(
    seen: Answer, values: np.ndarray, V: np.ndarray, why: str, tolerance: Tolerance = FLOAT64
) -> None:
    """The output beside the weights `values` is their weighted sum of V."""
    expected = oracle.weighted_sums(values, V)
    mixed = _part(seen, 0, expected.shape)
    mixed.must_equal(mixed.must_be_array(expected.shape), expected, "wrong output", why, tolerance)


def _must_hide(
    attention: Any, Q: np.ndarray, K: np.ndarray, V: np.ndarray, mask: np.ndarray
) -> Answer:
    seen = ask(attention, Q, K, V, mask)
    _must_hide_what_it_should(_weights_of(seen, Q, K), mask)
    return seen


def _must_hide_all(attention: Any, lead: tuple[int, ...], mask: np.ndarray) -> None:
    """The same for random Q, K and V with these leading axes; a failure is told on the smallest."""

    def judge(Q: np.ndarray, K: np.ndarray, V: np.ndarray) -> Answer:
        shape = (*Q.shape[:-1], K.shape[-2])[-mask.ndim :]
        cut = mask[tuple(slice(length) for length in shape)]  # axes of length 1 stay
        return _must_hide(attention, Q, K, V, cut)

    _on_smallest_case(lead, judge)


def _must_hide_what_it_should(found: Answer, mask: np.ndarray) -> None:
    """Rows of 1, exactly 0 where hidden and more than 0 elsewhere, whatever the scale."""
    allowed = np.broadcast_to(mask, found.value.shape)
    values = found.must_be_array(allowed.shape)
    found.must_be_finite(values, "Weights are numbers from 0 to 1, never NaN.")
    why = "Where the mask is False the weight is exactly 0; this is the mask, query by query: "
    told = why + _rows(allowed)
    found.demand(bool((values[~allowed] == 0).all()), "hidden keys get weight", told)
    why = "Where the mask is True the weight is more than 0; this is the mask, query by query: "
    found.demand(bool((values[allowed] > 0).all()), "visible keys get none", why + _rows(allowed))
    sums = np.asarray(values.sum(axis=-1))
    if not FLOAT64.allows(sums, np.ones_like(sums)).all():
        told = shown_apart(sums, np.ones_like(sums))[0]
        why = f"The visible keys of a query share the 1. Here the rows sum to {told}."
        found.fail("sums are not 1", why)


def _rows(mask: np.ndarray) -> str:
    """The rows of a mask in letters: T for True, F for False."""
    rows = mask.reshape(-1, mask.shape[-1])
    return ", ".join("".join("T" if each else "F" for each in row) for row in rows) + "."


def _must_share(attention: Any, Q: np.ndarray, K: np.ndarray, mask: np.ndarray, why: str) -> Answer:
    """The visible keys, which score alike, share the 1."""
    seen = ask(attention, Q, K, np.eye(K.shape[-2]), mask)
    found = _weights_of(seen, Q, K)
    expected = mask / mask.sum(axis=-1, keepdims=True)
    values = found.must_be_array(expected.shape)
    found.must_be_finite(values, why, expected)
    found.must_equal(values, expected, "wrong weights", why)
    found.demand(bool((values[~mask] == 0).all()), "hidden keys get weight", why, expected)
    return seen


def _must_share_alike(
    attention: Any, Q: np.ndarray, K: np.ndarray, mask: np.ndarray | None, why: str
) -> Answer:
    """The visible keys, which score alike, get weights above 0 that are the same."""
    seen = ask(attention, Q, K, np.eye(K.shape[-2]), mask)
    found = _weights_of(seen, Q, K)
    allowed = np.ones((1, K.shape[-2]), dtype=bool) if mask is None else mask
    expected = allowed / allowed.sum(axis=-1, keepdims=True)
    values = found.must_be_array(expected.shape)
    found.must_be_finite(values, why, expected)
    visible = values[allowed]
    found.demand(bool((visible > 0).all()), "visible keys get none", why, expected)
    alike = FLOAT64.allows(visible, np.full_like(visible, visible[0]))
    found.demand(bool(alike.all()), "not alike", why, expected)
    return seen


def _must_be_empty(
    attention: Any, Q: np.ndarray, K: np.ndarray, V: np.ndarray, mask: np.ndarray, why: str
) -> Answer:
    """Zeros in rows without a key, and weight for visible keys in the rows beside them."""
    seen = ask(attention, Q, K, V, mask)
    allowed = np.broadcast_to(mask, (*Q.shape[:-1], K.shape[-2]))
    nothing = ~allowed.any(axis=-1)
    for found in (_weights_of(seen, Q, K), _output_of(seen, Q, V, any_width=True)):
        values = found.must_be_array(found.value.shape)
        found.must_be_finite(values, why)
        found.demand(bool((values[nothing] == 0).all()), "not zeros", why)
    found = _weights_of(seen, Q, K)
    kept = bool((found.must_be_array(allowed.shape)[allowed] > 0).all())
    found.demand(kept, "neighbours disturbed", "The other queries see their keys as before.")
    return seen


# --- first_leak -------------------------------------------------------------------------------


def example(name: str) -> Example:
    """One of the functions that the checks look for leaks in, by its name."""
    return leaks.BY_NAME[name]


def inputs(name: str, shape: tuple[int, int]) -> np.ndarray:
    """Small inputs with two decimals and random signs, (S, d): what the examples are made for."""
    random = generator(f"inputs {name}")
    sizes = random.uniform(0.1, 0.45, shape).round(2)
    return np.asarray(sizes * random.choice([-1.0, 1.0], shape))


TELLING_INPUTS = np.array([[0.3, -0.2], [-0.4, 0.1], [0.2, 0.4], [-0.1, 0.3]])
SOUND = (example("divided by the length"), example("all future keys"))
BY_SIZE = (example("large inputs only"), example("moderate inputs only"), SOUND[1])
ONE_WAY = (example("upwards only"), example("downwards only"))
MORE = (*ONE_WAY, *SOUND)


@graded("first_leak", about="right", also=[(example("one future key"), TELLING_INPUTS)])
def leak_right(first_leak: Any) -> None:
    """None for right functions, usual and unusual, and for a single position."""
    for right in leaks.RIGHT:
        _must_find(first_leak, right, inputs("right", (4, 2)))
    for x in leaks.ROUNDED:
        _must_find(first_leak, example("global maximum"), x)
    _must_find(first_leak, example("causal attention"), inputs("wide", (3, 3)))
    seen = _must_find(first_leak, example("causal attention"), inputs("one", (1, 2)))
    passed("first_leak returns None for right functions, also for unusual ones", seen)


@graded("first_leak", about="position", also=[(ONE_WAY[0], TELLING_INPUTS)])
def leak_position(first_leak: Any) -> None:
    """Attentions that see too much: the first position that does."""
    _must_find_all(first_leak, leaks.SEEN, inputs("seen", (4, 2)))
    passed("first_leak names the first position that sees a later one")


@graded("first_leak", about="small", also=[(each, TELLING_INPUTS) for each in BY_SIZE])
def leak_small(first_leak: Any) -> None:
    """Leaks that show in a small part of the output, or little."""
    _must_find_all(first_leak, leaks.SMALL, inputs("small", (4, 2)))
    passed("first_leak finds leaks that are tiny, or in one feature only")


@graded("first_leak", about="changes", also=[(each, TELLING_INPUTS) for each in MORE])
def leak_changes(first_leak: Any) -> None:
    """Leaks that only some changes of the inputs show."""
    _must_find_all(first_leak, leaks.CHANGES, inputs("changes", (4, 2)))
    seen = _must_find(first_leak, example("all future keys"), np.zeros((3, 2)))
    passed("first_leak changes the inputs enough, and in more than one size", seen)


@graded(
    "first_leak",
    about="finite",
    also=[(each, leaks.KNOWN) for each in (*leaks.BROKEN, leaks.SPOILT, *SOUND)],
)
def leak_finite(first_leak: Any) -> None:
    """ValueError when an output is not finite."""
    seen = _must_find(first_leak, example("running mean"), inputs("finite", (3, 2)))
    for broken in leaks.BROKEN:
        _must_refuse(first_leak, broken, leaks.KNOWN)
    passed("first_leak raises ValueError where an output is not finite", seen)


@graded("first_leak", about="unchanged")
def leak_unchanged(first_leak: Any) -> None:
    """The caller's x is the same after the call, and may be read-only."""
    x = inputs("unchanged", (3, 2))
    seen = ask_leak(first_leak, example("running mean"), x)
    seen.must_not_change()
    locked = x.copy()
    locked.flags.writeable = False
    seen = ask_leak(first_leak, example("running mean"), locked, note="x cannot be written to")
    passed("first_leak leaves the caller's x alone", seen)


def _must_find_all(first_leak: Any, examples: Iterable[Example], x: np.ndarray) -> None:
    for each in examples:
        _must_find(first_leak, each, x)


def _must_find(first_leak: Any, asked: Example, x: np.ndarray) -> Answer:
    """The right position, or None."""
    seen = ask_leak(first_leak, asked, x)
    value = _whole(seen.value)
    position = asked.position if len(x) > 1 else None
    if position is None:
        why = "Whatever later inputs are, no output moves by more than rounding: it must be None."
        seen.demand(value is None, "accuses a right function", f"fn is {asked.told}. {why}")
        return seen
    title = "misses a leak" if value is None else "not the first position"
    why = f"fn is {asked.told}. {_evidence(asked, x, position)}"
    seen.demand(value == position, title, why, position)
    return seen


def _whole(value: Any) -> Any:
    """A NumPy integer as an int; everything else as it came."""
    if isinstance(value, np.ndarray) and value.shape == () and value.dtype.kind in "iu":
        return int(value)
    return value if value is None or type(value) is int else kind_of(value)


def _evidence(asked: Example, x: np.ndarray, position: int) -> str:
    """The change, of those that were named, which moves the output at `position` most."""

    def moved(size: float) -> float:
        edited = x.astype(np.float64)
        edited[position + 1 :] += size
        return float(np.abs(asked(edited)[position] - asked(x)[position]).max())

    size = max((1.0, 100.0), key=moved)
    return (
        f"Adding {size:g} to all inputs after {position} moves output {position} "
        f"by {moved(size):.3g}."
    )


def _must_refuse(first_leak: Any, broken: Example, x: np.ndarray) -> None:
    """ValueError, and nothing else, for a function that gives NaN or infinity."""
    seen = ask_leak(first_leak, broken, x, may_raise="ValueError")
    if seen.raised == "ValueError":
        return
    why = f"fn gives {broken.told}. Nothing can be said about leaks there: raise a ValueError."
    seen.fail("no ValueError", why)
