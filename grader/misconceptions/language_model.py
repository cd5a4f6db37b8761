"""Lesson 09: how people get `attention_backward` wrong, and what they are told.

Forms are a right backward pass with one piece exchanged; sources are public issues."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader import oracle
from grader.misconceptions.family import Form, misconception, right

Array = np.ndarray


@right("attention_backward")
def right_backward(
    Q: Any, K: Any, V: Any, grad_out: Any, mask: Any = None, scale: float | None = None
) -> Any:
    """The oracle, in float64."""
    Q, K, V, grad_out = (np.asarray(each, dtype=np.float64) for each in (Q, K, V, grad_out))
    return oracle.attention_backward(Q, K, V, grad_out, mask, scale)


@dataclass(frozen=True)
class Pass:
    """What is known when the gradients are made: arguments, weights, and what led to them."""

    Q: Array
    K: Array
    V: Array
    grad: Array
    mask: Any
    given: float | None
    scale: Any  # what the weights were made with
    scores: Array
    weights: Array


# --- pieces that the forms vary ---------------------------------------------------------------


def transposed(x: Array) -> Array:
    """The last two axes exchanged."""
    return np.swapaxes(x, -1, -2)


def root(Q: Array, K: Array, V: Array, given: float | None) -> Any:
    """The right scale."""
    return 1 / math.sqrt(Q.shape[-1]) if given is None else given


def hide(scores: Array, mask: Any) -> Array:
    """−∞ where the mask says no."""
    return scores if mask is None else np.where(mask, scores, -np.inf)


def softmax(scores: Array, mask: Any = None) -> Array:
    """A softmax that gives zeros where a row is −∞ throughout."""
    highest = scores.max(axis=-1, keepdims=True)
    exponentials = np.exp(scores - np.where(np.isneginf(highest), 0.0, highest))
    total = exponentials.sum(axis=-1, keepdims=True)
    return exponentials / np.where(total == 0, 1.0, total)


def through_softmax(weights: Array, up: Array) -> Array:
    """The gradient of the scores."""
    return weights * (up - (weights * up).sum(axis=-1, keepdims=True))


def value_side(p: Pass) -> Any:
    """The gradient of the weights."""
    return p.grad @ transposed(p.V)


def forward_scale(p: Pass) -> Any:
    """The factor of the chain rule: the scale of the weights."""
    return p.scale


def back(
    scale: Callable[[Array, Array, Array, float | None], Any] = root,
    hidden: Callable[[Array, Any], Array] = hide,
    weigh: Callable[[Array, Any], Any] = softmax,
    up: Callable[[Pass], Any] = value_side,
    through: Callable[[Array, Array], Any] = through_softmax,
    chain: Callable[[Pass], Any] = forward_scale,
    dQ: Callable[[Array, Pass], Any] = lambda dS, p: dS @ p.K,
    dK: Callable[[Array, Pass], Any] = lambda dS, p: transposed(dS) @ p.Q,
    dV: Callable[[Array, Pass], Any] = lambda dS, p: transposed(p.weights) @ p.grad,
    give: Callable[[Any, Any, Any], Any] = lambda dQ, dK, dV: (dQ, dK, dV),
) -> Form:
    """An attention_backward made of these pieces; NaN and infinity pass silently."""

    def attention_backward(
        Q: Any, K: Any, V: Any, grad_out: Any, mask: Any = None, scale_: Any = None, **named: Any
    ) -> Any:
        given = named.get("scale", scale_)
        Q, K, V, grad_out = (np.asarray(each) for each in (Q, K, V, grad_out))
        with np.errstate(all="ignore"):
            factor = scale(Q, K, V, given)
            scores = hidden((Q @ transposed(K)) * factor, mask)
            weights = weigh(scores, mask)
            p = Pass(Q, K, V, grad_out, mask, given, factor, scores, weights)
            dS = through(weights, up(p)) * chain(p)
            return give(dQ(dS, p), dK(dS, p), dV(dS, p))

    return attention_backward


# --- what comes back --------------------------------------------------------------------------


@misconception(
    "attention_backward",
    "gradients in another order",
    about="form",
    told="Your code returns the gradients in another order than dQ, dK, dV.",
    question="In which order does the docstring name them?",
)
def another_order() -> Iterator[Form]:
    yield back(give=lambda dQ, dK, dV: (dV, dK, dQ))
    yield back(give=lambda dQ, dK, dV: (dK, dQ, dV))
    yield back(give=lambda dQ, dK, dV: (dV, dQ, dK))
    yield back(give=lambda dQ, dK, dV: (dQ, dV, dK))
    yield back(give=lambda dQ, dK, dV: (dK, dV, dQ))


@misconception(
    "attention_backward",
    "not three gradients",
    about="form",
    told="Your code returns something else than the three gradients.",
    question="What does the docstring name behind 'returns'?",
)
def not_three() -> Iterator[Form]:
    yield back(give=lambda dQ, dK, dV: None)
    yield back(give=lambda dQ, dK, dV: dQ)
    yield back(give=lambda dQ, dK, dV: (dQ, dK))
    yield back(give=lambda dQ, dK, dV: {"dQ": dQ, "dK": dK, "dV": dV})


# --- dV -----------------------------------------------------------------------------------------


@misconception(
    "attention_backward",
    "weights not transposed for dV",
    about="form values",
    told="Your code multiplies the gradients by the weights as they are. That mixes queries where "
    "each value must collect from the queries that see it; it only works by accident when there "
    "are as many queries as keys.",
    question="Which axis of the weights belongs to the values, and which must be summed over?",
    source="Dao-AILab/flash-attention#373",
)
def dv_not_transposed() -> Iterator[Form]:
    yield back(dV=lambda dS, p: p.weights @ p.grad)


@misconception(
    "attention_backward",
    "scores instead of weights in dV",
    about="values",
    told="Your dV is made with the scores (or their gradient) instead of the weights.",
    question="output = weights · V: what is V multiplied by?",
)
def scores_in_dv() -> Iterator[Form]:
    yield back(dV=lambda dS, p: transposed(p.scores) @ p.grad)
    yield back(dV=lambda dS, p: transposed(dS) @ p.grad)
    yield back(dV=lambda dS, p: transposed(dS) @ p.V if dS.shape[-1] == len(p.V) else 0 * p.V)


@misconception(
    "attention_backward",
    "output instead of gradient in dV",
    about="values",
    told="Your dV is made of outputs, not of the gradients that come in.",
    question="If grad_out doubles, what becomes of dV, and what of yours?",
)
def output_in_dv() -> Iterator[Form]:
    yield back(dV=lambda dS, p: transposed(p.weights) @ (p.weights @ p.V))


@misconception(
    "attention_backward",
    "weights that do not sum to 1",
    about="values softmax mask range",
    told="Your code makes its weights anew, and not as the forward pass does: those of a query do "
    "not sum to 1. They are not divided, or divided along the wrong axis.",
    question="What do your weights of one query sum to?",
)
def other_weights() -> Iterator[Form]:
    def undivided(scores: Array, mask: Any) -> Array:
        highest = scores.max(axis=-1, keepdims=True)
        return np.exp(scores - np.where(np.isneginf(highest), 0.0, highest))

    def along_queries(scores: Array, mask: Any) -> Array:
        return transposed(softmax(transposed(scores)))

    def all_together(scores: Array, mask: Any) -> Array:
        exponentials = undivided(scores, mask)
        return exponentials / exponentials.sum()

    for weigh in (undivided, along_queries, all_together):
        yield back(weigh=weigh)


@misconception(
    "attention_backward",
    "dV multiplied by the scale",
    about="values scale given",
    told="Your code multiplies dV by the scale. The values come after the scores and never meet "
    "it.",
    question="Which of Q, K and V are multiplied by the scale on the way forward?",
)
def dv_scaled() -> Iterator[Form]:
    yield back(dV=lambda dS, p: transposed(p.weights) @ p.grad * p.scale)


# --- dQ and dK --------------------------------------------------------------------------------


@misconception(
    "attention_backward",
    "dS not transposed for dK",
    about="form keys",
    told="Your dK uses the gradient of the scores as it is. Its rows belong to queries; dK needs a "
    "row for each key. It only works by accident when there are as many queries as keys.",
    question="Which axis of the scores belongs to the keys, and which must be summed over?",
    source="Dao-AILab/flash-attention#373",
)
def dk_not_transposed() -> Iterator[Form]:
    yield back(dK=lambda dS, p: dS @ p.Q)


@misconception(
    "attention_backward",
    "dS transposed for dQ",
    about="form queries softmax",
    told="Your dQ uses the transposed gradient of the scores: it has a row for each key, where dQ "
    "needs one for each query.",
    question="Which axis of the scores belongs to the queries, and which must be summed over?",
)
def dq_transposed() -> Iterator[Form]:
    yield back(dQ=lambda dS, p: transposed(dS) @ p.K)


@misconception(
    "attention_backward",
    "dQ made of queries",
    about="form queries",
    told="Your dQ is made of the queries themselves. A score is q · k: what a query's gradient "
    "needs is the other factor.",
    question="What is the derivative of q · k with respect to q?",
)
def dq_of_queries() -> Iterator[Form]:
    yield back(dQ=lambda dS, p: dS @ p.Q)
    yield back(dQ=lambda dS, p: transposed(dS) @ p.Q)


@misconception(
    "attention_backward",
    "dK made of keys",
    about="form keys",
    told="Your dK is made of the keys themselves. A score is q · k: what a key's gradient needs is "
    "the other factor.",
    question="What is the derivative of q · k with respect to k?",
)
def dk_of_keys() -> Iterator[Form]:
    yield back(dK=lambda dS, p: transposed(dS) @ p.K)
    yield back(dK=lambda dS, p: dS @ p.K)


@misconception(
    "attention_backward",
    "values not transposed",
    about="form queries keys softmax",
    told="Your code multiplies the gradients by V as it is, or reshaped. The gradient of a weight "
    "is the dot product of the query's gradient with the key's value.",
    question="Which two axes must meet so that a row of grad_out is multiplied with a row of V?",
)
def values_not_transposed() -> Iterator[Form]:
    yield back(up=lambda p: p.grad @ p.V)
    yield back(up=lambda p: p.grad @ p.V.reshape(*p.V.shape[:-2], p.V.shape[-1], -1))


@misconception(
    "attention_backward",
    "width of the values taken from the keys",
    about="softmax",
    told="Your code takes as many columns of V and grad_out as a key has. Values may be wider.",
    question="What does your code do with the last columns of V when d_v is larger than d_k?",
    source="XunhaoLai/native-sparse-attention-triton#27",
)
def value_width() -> Iterator[Form]:
    def cut(p: Pass) -> Any:
        n = p.Q.shape[-1]
        return p.grad[..., :n] @ transposed(p.V[..., :n])

    yield back(up=cut)


@misconception(
    "attention_backward",
    "sign turned round",
    about="queries keys softmax",
    told="Your gradients point the wrong way: a sign is turned round.",
    question="Does your correction subtract from the gradient of the weights, or the other way?",
)
def sign_turned() -> Iterator[Form]:
    yield back(through=lambda weights, up: -through_softmax(weights, up))


# --- through the softmax ------------------------------------------------------------------------


@misconception(
    "attention_backward",
    "softmax taken for a product",
    about="softmax",
    told="Your code multiplies by the weights and leaves it at that. When one score rises its "
    "weight rises, but the other weights fall: that part is missing.",
    question="What do the gradients of a query's scores sum to, and what do yours?",
    source="HomericIntelligence/Odyssey#2134",
)
def no_correction() -> Iterator[Form]:
    yield back(through=lambda weights, up: weights * up)


@misconception(
    "attention_backward",
    "softmax left out",
    about="softmax",
    told="Your code hands the gradient of the weights on as if it were that of the scores.",
    question="Which function stands between scores and weights, and where is its derivative?",
)
def no_softmax() -> Iterator[Form]:
    yield back(through=lambda weights, up: up)


@misconception(
    "attention_backward",
    "each weight by itself",
    about="softmax",
    told="Your code uses w (1 − w), the derivative of a weight by its own score. A weight also "
    "depends on the other scores of its query.",
    question="What happens to the weights of the other keys when one score rises?",
)
def diagonal_only() -> Iterator[Form]:
    yield back(through=lambda weights, up: up * weights * (1 - weights))


@misconception(
    "attention_backward",
    "plain mean in the correction",
    about="softmax",
    told="Your correction is a mean (or a sum) in which all keys count alike, also those with "
    "hardly any weight.",
    question="Which keys decide how far the output moves, and in which proportion?",
)
def plain_mean() -> Iterator[Form]:
    yield back(through=lambda weights, up: weights * (up - up.mean(axis=-1, keepdims=True)))
    yield back(through=lambda weights, up: weights * (up - up.sum(axis=-1, keepdims=True)))
    yield back(through=lambda w, up: w * (up - (w * up).mean(axis=-1, keepdims=True)))


@misconception(
    "attention_backward",
    "correction not weighted",
    about="softmax",
    told="Your code subtracts the correction after the multiplication by the weights, so that it "
    "is the same for every key.",
    question="Does the correction reach a key with weight 0?",
)
def correction_outside() -> Iterator[Form]:
    yield back(through=lambda w, up: w * up - (w * up).sum(axis=-1, keepdims=True))


@misconception(
    "attention_backward",
    "correction along the wrong axis",
    about="form softmax",
    told="Your correction sums over the queries. A softmax ties the keys of one query together.",
    question="Along which axis do the weights sum to 1?",
)
def wrong_axis() -> Iterator[Form]:
    yield back(through=lambda w, up: w * (up - (w * up).sum(axis=-2, keepdims=True)))


@misconception(
    "attention_backward",
    "one correction for all",
    about="form softmax leading",
    told="Your correction is one number for all queries, or misses an axis, so that a query gets "
    "another's.",
    question="Of which shape is the sum, and which shape must it have to be subtracted row by row?",
)
def one_for_all() -> Iterator[Form]:
    yield back(through=lambda w, up: w * (up - (w * up).sum()))
    yield back(through=lambda w, up: w * (up - (w * up).sum(axis=-1)))
    yield back(through=lambda w, up: w * (up - (w * up).sum(axis=(-2, -1), keepdims=True)))


@misconception(
    "attention_backward",
    "weights and their gradient exchanged",
    about="softmax",
    told="Your code passes the weights and their gradient in the wrong order: where one must stand "
    "the other does.",
    question="In which order does softmax_backward take its two arguments?",
)
def exchanged() -> Iterator[Form]:
    yield back(through=lambda w, up: through_softmax(up, w))


@misconception(
    "attention_backward",
    "derivative at the scores",
    about="softmax",
    told="Your code uses the scores where the weights belong: the derivative of a softmax is made "
    "of what came out of it.",
    question="What does softmax_backward take, the scores or the weights?",
)
def at_the_scores() -> Iterator[Form]:
    def form(p: Pass) -> Any:
        return through_softmax(p.scores, value_side(p))

    yield back(up=form, through=lambda w, up: up)


# --- scale ------------------------------------------------------------------------------------


@misconception(
    "attention_backward",
    "scale forgotten on the way back",
    about="scale given",
    told="Your code scales the scores on the way forward, and leaves the factor out of dQ and dK. "
    "What multiplies on the way forward multiplies on the way back.",
    question="s = 3 · q · k: what is the derivative of s with respect to q?",
    source="AlphaGPU/leetgpu-challenges#302",
)
def chain_forgotten() -> Iterator[Form]:
    yield back(chain=lambda p: 1.0)


@misconception(
    "attention_backward",
    "scale forgotten in dQ",
    about="scale given",
    told="Your dK has the factor of the scale, your dQ has not.",
    question="Which of the two depends on the scaled scores?",
)
def forgotten_in_dq() -> Iterator[Form]:
    yield back(chain=lambda p: 1.0, dK=lambda dS, p: transposed(dS) @ p.Q * p.scale)


@misconception(
    "attention_backward",
    "scale forgotten in dK",
    about="scale given keys",
    told="Your dQ has the factor of the scale, your dK has not.",
    question="Which of the two depends on the scaled scores?",
)
def forgotten_in_dk() -> Iterator[Form]:
    yield back(chain=lambda p: 1.0, dQ=lambda dS, p: dS @ p.K * p.scale)


@misconception(
    "attention_backward",
    "scale counted twice",
    about="scale given",
    told="Your code multiplies the gradients by the scale twice.",
    question="How often does a query meet the scale on the way forward?",
)
def chain_twice() -> Iterator[Form]:
    yield back(chain=lambda p: p.scale * p.scale)


@misconception(
    "attention_backward",
    "scale divided on the way back",
    about="scale given",
    told="Your code divides the gradients by the scale, as if to undo it.",
    question="s = 3 · q · k: does s move 3 times as fast as q · k, or a third as fast?",
)
def chain_divided() -> Iterator[Form]:
    yield back(chain=lambda p: 1 / p.scale if p.scale else p.scale)
    yield back(chain=lambda p: np.float64(1) / p.scale)


@misconception(
    "attention_backward",
    "weights without a scale",
    about="scale given",
    told="Your code makes its weights from scores without a scale. They are not the weights of "
    "the forward pass.",
    question="How does the forward pass make its weights?",
)
def weights_unscaled() -> Iterator[Form]:
    def one(Q: Array, K: Array, V: Array, given: float | None) -> Any:
        return 1.0

    yield back(scale=one)
    yield back(scale=one, chain=lambda p: root(p.Q, p.K, p.V, p.given))


@misconception(
    "attention_backward",
    "scale from the wrong width",
    about="scale",
    told="Your scale is not 1/√d_k: it comes from another width, from no root, or from a number.",
    question="Which axis of which array is d_k?",
)
def wrong_width() -> Iterator[Form]:
    def from_size(size: Callable[[Array, Array, Array], float]) -> Form:
        return back(scale=lambda Q, K, V, given: size(Q, K, V) if given is None else given)

    yield from_size(lambda Q, K, V: 1 / math.sqrt(V.shape[-1]))
    yield from_size(lambda Q, K, V: 1 / math.sqrt(K.shape[-2]))
    yield from_size(lambda Q, K, V: 1 / math.sqrt(Q.shape[-2]))
    yield from_size(lambda Q, K, V: 1 / Q.shape[-1])
    yield from_size(lambda Q, K, V: 1 / 8)
    yield from_size(lambda Q, K, V: math.sqrt(Q.shape[-1]))


@misconception(
    "attention_backward",
    "given scale ignored",
    about="given",
    told="Your code uses 1/√d_k whatever scale it is given.",
    question="Where does your code read its argument `scale`?",
    source="pytorch/pytorch#95259",
)
def given_ignored() -> Iterator[Form]:
    yield back(scale=lambda Q, K, V, given: root(Q, K, V, None))


@misconception(
    "attention_backward",
    "given scale ignored on one way",
    about="given",
    told="Your code uses the scale that it is given on the way forward only, or on the way back "
    "only.",
    question="How often does your code compute the scale, and do all places agree?",
)
def given_on_one_way() -> Iterator[Form]:
    yield back(chain=lambda p: root(p.Q, p.K, p.V, None))
    yield back(
        scale=lambda Q, K, V, given: root(Q, K, V, None),
        chain=lambda p: root(p.Q, p.K, p.V, p.given),
    )


@misconception(
    "attention_backward",
    "scale 0.0 taken for none",
    about="given",
    told="Your code takes a scale of 0.0 for no scale at all.",
    question="What is `bool(0.0)`, and which test asks for None alone?",
)
def zero_for_none() -> Iterator[Form]:
    yield back(scale=lambda Q, K, V, given: given or root(Q, K, V, None))
    yield back(chain=lambda p: p.given or root(p.Q, p.K, p.V, None))


# --- masks ------------------------------------------------------------------------------------


@misconception(
    "attention_backward",
    "mask ignored",
    about="mask empty",
    told="Your code makes its weights without the mask. They are not the weights of the forward "
    "pass.",
    question="Where does your code use the mask?",
)
def mask_ignored() -> Iterator[Form]:
    yield back(hidden=lambda scores, mask: scores)


@misconception(
    "attention_backward",
    "mask turned round",
    about="mask empty",
    told="Your code hides what may be seen, and shows what may not.",
    question="What does True mean in this course's masks?",
)
def mask_inverted() -> Iterator[Form]:
    yield back(
        hidden=lambda scores, mask: scores if mask is None else np.where(mask, -np.inf, scores)
    )


@misconception(
    "attention_backward",
    "mask after the softmax",
    about="mask",
    told="Your code sets weights to 0 after the softmax. The hidden scores have had their share "
    "of the sum by then.",
    question="What do the weights of a query sum to when hidden ones are cut away afterwards?",
)
def mask_afterwards() -> Iterator[Form]:
    def cut(scores: Array, mask: Any) -> Array:
        return softmax(scores) if mask is None else softmax(scores) * mask

    def shared_anew(scores: Array, mask: Any) -> Array:
        weights = cut(scores, mask)
        total = weights.sum(axis=-1, keepdims=True)
        return weights / np.where(total == 0, 1.0, total)

    for weigh in (cut, shared_anew):
        yield back(hidden=lambda scores, mask: scores, weigh=weigh)


@misconception(
    "attention_backward",
    "mask as a factor or a summand",
    about="mask empty",
    told="Your code multiplies scores by the mask, or adds it to them. A hidden score becomes 0 or "
    "stays, and 0 is a score like any other.",
    question="Which weight does a score of 0 get beside a score of −1?",
)
def mask_as_number() -> Iterator[Form]:
    yield back(hidden=lambda scores, mask: scores if mask is None else scores * mask)
    yield back(hidden=lambda scores, mask: scores if mask is None else scores + mask)


@misconception(
    "attention_backward",
    "mask on the way back only",
    about="mask",
    told="Your code makes its weights without the mask and sets gradients of hidden scores to 0 "
    "afterwards. The weights of the forward pass knew the mask.",
    question="Which weights did the forward pass use, those before the mask or those after it?",
)
def mask_late() -> Iterator[Form]:
    def masked(p: Pass) -> Any:
        dS = through_softmax(p.weights, value_side(p))
        return dS if p.mask is None else dS * p.mask

    yield back(hidden=lambda scores, mask: scores, up=masked, through=lambda w, up: up)


@misconception(
    "attention_backward",
    "an empty row fills with equal weights",
    about="empty",
    told="Your code hides with a large negative number. In a row where all is hidden all scores "
    "are then equal, and so are the weights: a query that may see nothing sees everything.",
    question="What is the softmax of a row whose scores are all −1e9?",
)
def empty_row_filled() -> Iterator[Form]:
    def filled(fill: float) -> Callable[[Array, Any], Array]:
        return lambda scores, mask: scores if mask is None else np.where(mask, scores, fill)

    def lowered(by: float) -> Callable[[Array, Any], Array]:
        return lambda scores, mask: scores if mask is None else scores + np.where(mask, 0.0, by)

    for number in (-1e9, -1e30, float(np.finfo(np.float64).min), float(np.finfo(np.float32).min)):
        yield back(hidden=filled(number))
        yield back(hidden=lowered(number))


@misconception(
    "attention_backward",
    "an empty row gives NaN",
    about="empty",
    told="Your softmax divides 0 by 0, or subtracts −∞ from −∞, in a row where all is hidden. The "
    "NaN reaches every gradient that sums over queries.",
    question="What did lesson 1 do with a row of −∞?",
)
def empty_row_nan() -> Iterator[Form]:
    def naive(scores: Array, mask: Any) -> Array:
        exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return exponentials / exponentials.sum(axis=-1, keepdims=True)

    yield back(weigh=naive)

    def zero_by_zero(scores: Array, mask: Any) -> Array:
        highest = scores.max(axis=-1, keepdims=True)
        exponentials = np.exp(scores - np.where(np.isneginf(highest), 0.0, highest))
        return exponentials / exponentials.sum(axis=-1, keepdims=True)

    yield back(weigh=zero_by_zero)


# --- range, stacks, kinds, changes ------------------------------------------------------------


@misconception(
    "attention_backward",
    "maximum not subtracted",
    about="range",
    told="Your code takes the exponential of the scores as they are. Beyond about 709 it is "
    "infinite.",
    question="What did lesson 1 do to a row before the exponential?",
)
def no_maximum() -> Iterator[Form]:
    def plain(scores: Array, mask: Any) -> Array:
        exponentials = np.exp(scores)
        return exponentials / exponentials.sum(axis=-1, keepdims=True)

    def careful(scores: Array, mask: Any) -> Array:
        exponentials = np.exp(scores)
        total = exponentials.sum(axis=-1, keepdims=True)
        return exponentials / np.where(total == 0, 1.0, total)

    for weigh in (plain, careful):
        yield back(weigh=weigh)


@misconception(
    "attention_backward",
    "tables, not stacks",
    about="leading",
    told="Your code transposes all axes, or sums over all but the last two. With leading axes that "
    "mixes one table with another.",
    question="Which axes does `.T` exchange when there are three of them?",
)
def no_stacks() -> Iterator[Form]:
    yield back(dK=lambda dS, p: dS.T @ p.Q)
    yield back(dV=lambda dS, p: p.weights.T @ p.grad)
    yield back(dK=lambda dS, p: dS.T @ p.Q, dV=lambda dS, p: p.weights.T @ p.grad)
    yield back(up=lambda p: p.grad @ p.V.T)
    yield back(
        up=lambda p: p.grad @ p.V.T,
        dK=lambda dS, p: dS.T @ p.Q,
        dV=lambda dS, p: p.weights.T @ p.grad,
    )

    def transposed_all(
        Q: Any, K: Any, V: Any, grad_out: Any, mask: Any = None, scale: Any = None
    ) -> Any:
        weights = softmax(hide(Q @ K.T * root(Q, K, V, scale), mask))
        dS = through_softmax(weights, grad_out @ V.T) * root(Q, K, V, scale)
        return dS @ K, dS.T @ Q, weights.T @ grad_out

    yield transposed_all

    def summed(axes: Callable[[Array], Any]) -> Form:
        return back(
            dK=lambda dS, p: axes(transposed(dS) @ p.Q),
            dV=lambda dS, p: axes(transposed(p.weights) @ p.grad),
        )

    yield summed(lambda x: x.sum(axis=tuple(range(x.ndim - 2))))
    yield summed(lambda x: x.sum(axis=0) if x.ndim > 2 else x)


@misconception(
    "attention_backward",
    "gradients kept as integers",
    about="kinds form",
    told="Your code collects gradients in arrays of the kind of its input. From integers they "
    "come back without what stands behind the point.",
    question="What does `np.zeros_like` of an array of integers hold?",
)
def kept_as_integers() -> Iterator[Form]:
    def cast(which: tuple[bool, bool, bool]) -> Form:
        def attention_backward(
            Q: Any, K: Any, V: Any, grad_out: Any, mask: Any = None, scale: Any = None
        ) -> Any:
            exact = right_backward(Q, K, V, grad_out, mask, scale)
            return tuple(
                part.astype(np.asarray(given).dtype) if narrow else part
                for part, given, narrow in zip(exact, (Q, K, V), which, strict=True)
            )

        return attention_backward

    for which in ((True, True, True), (False, True, True), (True, True, False)):
        yield cast(which)


@misconception(
    "attention_backward",
    "arguments overwritten",
    about="changes",
    told="Your code writes into an array that belongs to the caller.",
    question="Which of your lines uses `*=`, `-=` or an assignment to a slice?",
)
def overwritten() -> Iterator[Form]:
    inner = right_backward

    def scaled_in_place(
        Q: Any, K: Any, V: Any, grad_out: Any, mask: Any = None, scale: Any = None
    ) -> Any:
        parts = inner(Q, K, V, grad_out, mask, scale)
        Q *= root(Q, K, V, scale)
        return parts

    def gradient_in_place(
        Q: Any, K: Any, V: Any, grad_out: Any, mask: Any = None, scale: Any = None
    ) -> Any:
        parts = inner(Q, K, V, grad_out, mask, scale)
        grad_out *= root(Q, K, V, scale)
        return parts

    def keys_in_place(
        Q: Any, K: Any, V: Any, grad_out: Any, mask: Any = None, scale: Any = None
    ) -> Any:
        parts = inner(Q, K, V, grad_out, mask, scale)
        K *= root(Q, K, V, scale)
        return parts

    yield scaled_in_place
    yield gradient_in_place
    yield keys_in_place
