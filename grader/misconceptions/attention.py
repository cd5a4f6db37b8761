"""Lesson 02: how people get `attend` and `attention` wrong, and what they are told.

Forms are a right attention with one piece exchanged; sources are public issues."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from grader import oracle
from grader.misconceptions import softmax as lesson_01
from grader.misconceptions.family import Form, misconception, right

Array = np.ndarray
Score = Callable[[Array, Array], Any]
Factor = Callable[[Array, Array, Array], Any]
Weigh = Callable[[Array], Any]
Mix = Callable[[Array, Array, Array, Array], Any]
Give = Callable[[Any, Any, Any], Any]
Forms = Callable[[], Iterator[Form]]


@right("attention")
def right_attention(Q: Any, K: Any, V: Any, scale: float | None = None) -> tuple[Array, Array]:
    """The oracle without a mask."""
    return oracle.attention(np.asarray(Q), np.asarray(K), np.asarray(V), scale=scale)


@right("attend")
def right_attend(query: Any, keys: Any, values: Any) -> tuple[list[float], list[float]]:
    """One row of the oracle, as lists."""
    output, weights = right_attention([query], keys, values)
    return output[0].tolist(), weights[0].tolist()


# --- pieces of attention that the forms vary --------------------------------------------------


def transposed(K: Array) -> Array:
    """The last two axes exchanged."""
    return np.swapaxes(K, -1, -2)


def products(Q: Array, K: Array) -> Any:
    """The dot product of each query with each key."""
    return Q @ transposed(K)


def root(Q: Array, K: Array, V: Array) -> Any:
    """The right scale."""
    return 1 / math.sqrt(Q.shape[-1])


def unscaled(Q: Array, K: Array, V: Array) -> Any:
    """No scale."""
    return 1.0


def always(number: float) -> Factor:
    """The same scale for vectors of every width."""
    return lambda Q, K, V: number


def softmax(scores: Array, axis: int | tuple[int, ...] | None = -1) -> Any:
    """A softmax of ordinary finite scores."""
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def mixed(weights: Array, Q: Array, K: Array, V: Array) -> Any:
    """The weighted sum of the values."""
    return weights @ V


def both_parts(output: Any, weights: Any, scores: Any) -> Any:
    """What must be returned."""
    return output, weights


def built(
    score: Score = products,
    factor: Factor = root,
    weigh: Weigh = softmax,
    mix: Mix = mixed,
    give: Give = both_parts,
) -> Form:
    """An attention made of these pieces."""

    def attention(Q: Any, K: Any, V: Any, scale: float | None = None) -> Any:
        Q, K, V = (np.asarray(each) for each in (Q, K, V))
        with np.errstate(all="ignore"):
            scores = score(Q, K) * (factor(Q, K, V) if scale is None else scale)
            weights = weigh(scores)
            return give(mix(weights, Q, K, V), weights, scores)

    return attention


def with_scale(use: Callable[[Array, Array, Any], Any]) -> Form:
    """An attention whose scores are `use(Q, unscaled scores, given scale)`."""

    def attention(Q: Any, K: Any, V: Any, scale: float | None = None) -> Any:
        Q, K, V = (np.asarray(each) for each in (Q, K, V))
        with np.errstate(all="ignore"):
            weights = softmax(use(Q, products(Q, K), scale))
            return weights @ V, weights

    return attention


def scaled_or_not(**pieces: Any) -> Iterator[Form]:
    """The same mistake with the right scale and without any."""
    for factor in (root, unscaled):
        yield built(factor=factor, **pieces)


def listed(form: Form) -> Form:
    """The form as an `attend`: one query, lists in and out."""

    def attend(query: Any, keys: Any, values: Any) -> Any:
        parts = form(np.array([query]), np.array(keys), np.array(values))
        if not isinstance(parts, tuple):
            return parts[0].tolist()
        return tuple(part[0].tolist() for part in parts)

    return attend


def in_both(
    name: str, about: str, told: str, question: str, source: str = ""
) -> Callable[[Forms], Forms]:
    """Register a misconception of `attention`, and the same of `attend`."""

    def register(forms: Forms) -> Forms:
        misconception("attention", name, about, told, question, source)(forms)
        misconception("attend", name, about, told, question, source)(lambda: map(listed, forms()))
        return forms

    return register


# --- what is returned -------------------------------------------------------------------------


@in_both(
    "output and weights exchanged",
    about="form",
    told="Your code returns the weights first and the output second.",
    question="In which order does the docstring name the two results?",
)
def exchanged() -> Iterator[Form]:
    yield from scaled_or_not(give=lambda output, weights, scores: (weights, output))


@in_both(
    "only the output",
    about="form",
    told="Your code returns the output alone. The weights are asked for too: they are what shows "
    "where a query has looked.",
    question="How does a Python function hand back two things?",
)
def only_output() -> Iterator[Form]:
    yield from scaled_or_not(give=lambda output, weights, scores: output)


@misconception(
    "attention",
    "lists instead of arrays",
    about="form",
    told="Your code returns lists. Whoever calls it wants to compute with whole arrays.",
    question="Which type has `weights @ V`, and where does yours get lost?",
)
def lists_returned() -> Iterator[Form]:
    yield from scaled_or_not(
        give=lambda output, weights, scores: (output.tolist(), weights.tolist())
    )
    yield from scaled_or_not(give=lambda output, weights, scores: (list(output), list(weights)))


@misconception(
    "attend",
    "arrays or tuples instead of lists",
    about="form",
    told="Your code returns arrays, or tuples, where lists were asked for.",
    question="Of which type are the two results in the docstring's example?",
)
def no_lists_returned() -> Iterator[Form]:
    def turned(into: Callable[[list[float]], Any]) -> Iterator[Form]:
        for form in scaled_or_not():

            def attend(query: Any, keys: Any, values: Any, form: Form = form) -> Any:
                output, weights = listed(form)(query, keys, values)
                return into(output), into(weights)

            yield attend

    yield from turned(np.array)
    yield from turned(tuple)


@in_both(
    "only the weights",
    about="form",
    told="Your code returns the weights and nothing that was made of the values.",
    question="What becomes of the values once the weights are known?",
)
def only_weights() -> Iterator[Form]:
    yield from scaled_or_not(give=lambda output, weights, scores: weights)


@in_both(
    "scores returned as weights",
    about="form scores",
    told="Your output is right, but the second result is the scores, as they were before the "
    "softmax.",
    question="Which of your variables holds numbers that sum to 1 for each query?",
    source="onnx/onnx#6984",
)
def scores_returned() -> Iterator[Form]:
    yield from scaled_or_not(give=lambda output, weights, scores: (output, scores))

    def unscaled_scores(Q: Any, K: Any, V: Any, scale: float | None = None) -> Any:
        output, _ = right_attention(Q, K, V, scale)
        return output, products(np.asarray(Q), np.asarray(K))

    yield unscaled_scores


@in_both(
    "exponentials returned as weights",
    about="form scores",
    told="Your output is right, but the second result is the exponentials, before they are divided "
    "by their sum.",
    question="Where do you divide, and what do you return?",
)
def exponentials_returned() -> Iterator[Form]:
    for shift in (lambda s: s.max(axis=-1, keepdims=True), lambda s: 0.0):
        yield from scaled_or_not(
            give=lambda output, weights, scores, shift=shift: (
                output,
                np.exp(scores - shift(scores)),
            )
        )


@misconception(
    "attention",
    "weights returned transposed",
    about="scores",
    told="Your output is right, but the weights come back transposed: a row for each key.",
    question="Whose weights must sum to 1, and along which axis do they lie in your result?",
)
def weights_returned_transposed() -> Iterator[Form]:
    yield from scaled_or_not(give=lambda output, weights, scores: (output, transposed(weights)))


# --- scores -----------------------------------------------------------------------------------


@misconception(
    "attention",
    "keys not transposed",
    about="form scores",
    told="Your code multiplies Q by K as it is. That multiplies components of a query with "
    "positions of the keys, and only works by accident when both are as many.",
    question="Which two axes must meet in the product for a row of Q to be multiplied with a row "
    "of K?",
)
def keys_not_transposed() -> Iterator[Form]:
    yield from scaled_or_not(score=lambda Q, K: Q @ K)


@misconception(
    "attention",
    "keys reshaped instead of transposed",
    about="form scores leading",
    told="Your code reshapes K to (d_k, S_k). A reshape keeps the numbers in their order in memory,"
    " so components of different keys end up in one column.",
    question="Write a 2 × 3 table down, reshape it to 3 × 2, and transpose it: are the two alike?",
)
def keys_reshaped() -> Iterator[Form]:
    def reshaped(Q: Array, K: Array) -> Any:
        return Q @ K.reshape(*K.shape[:-2], K.shape[-1], K.shape[-2])

    yield from scaled_or_not(score=reshaped)
    yield from scaled_or_not(score=lambda Q, K: Q @ K.reshape(K.shape[-1], -1))


@misconception(
    "attention",
    "queries and keys exchanged",
    about="form scores output",
    told="Your code lets the keys ask the queries: its table has a row for each key. With as many "
    "queries as keys nothing crashes, and every output is made by the wrong weights.",
    question="Of what shape must the table of scores be when there are 2 queries and 3 keys?",
)
def roles_exchanged() -> Iterator[Form]:
    yield from scaled_or_not(score=lambda Q, K: K @ transposed(Q))
    yield from scaled_or_not(
        score=lambda Q, K: K @ transposed(Q), mix=lambda w, Q, K, V: transposed(w) @ V
    )


@misconception(
    "attention",
    "keys compared with themselves",
    about="form scores",
    told="Your scores compare keys with keys; the queries have no say in them.",
    question="If Q changes, which of your numbers change?",
)
def keys_with_keys() -> Iterator[Form]:
    yield from scaled_or_not(score=lambda Q, K: K @ transposed(K))


@misconception(
    "attention",
    "queries compared with themselves",
    about="form scores",
    told="Your scores compare queries with queries; the keys have no say in them.",
    question="If K changes, which of your numbers change?",
)
def queries_with_queries() -> Iterator[Form]:
    yield from scaled_or_not(score=lambda Q, K: Q @ transposed(Q))


@misconception(
    "attend",
    "keys compared with themselves",
    about="form scores",
    told="Your scores are made of the keys alone; the query has no say in them.",
    question="If the query changes, which of your numbers change?",
)
def list_keys_with_keys() -> Iterator[Form]:
    yield from map(listed, scaled_or_not(score=lambda Q, K: (K * K).sum(axis=-1)[None]))


def normalised(x: Array) -> Any:
    """Each vector divided by its length; a vector of zeros stays."""
    length = np.sqrt((x * x).sum(axis=-1, keepdims=True))
    return x / np.where(length == 0, 1, length)


@in_both(
    "cosine instead of dot product",
    about="scores output scale range",
    told="Your code divides by the lengths of the query, of the keys or of both before it compares "
    "them. A long key then matches no better than a short one, and no score can be large.",
    question="What should happen to a weight when its key is made twice as long?",
)
def cosine() -> Iterator[Form]:
    def plainly(x: Array) -> Any:
        return x / np.sqrt((x * x).sum(axis=-1, keepdims=True))

    for unit in (normalised, plainly):
        yield from scaled_or_not(score=lambda Q, K, unit=unit: products(unit(Q), unit(K)))
        yield from scaled_or_not(score=lambda Q, K, unit=unit: products(Q, unit(K)))
        yield from scaled_or_not(score=lambda Q, K, unit=unit: products(unit(Q), K))

    def with_epsilon(Q: Array, K: Array) -> Any:
        lengths = [np.sqrt((x * x).sum(axis=-1, keepdims=True)) for x in (Q, K)]
        return products(Q, K) / (lengths[0] * transposed(lengths[1]) + 1e-8)

    yield from scaled_or_not(score=with_epsilon)


@in_both(
    "distance instead of dot product",
    about="form scores output",
    told="Your scores are distances between query and key (or their negatives), not dot products.",
    question="Which score does the formula give to two equal vectors, and which one does yours?",
)
def distance() -> Iterator[Form]:
    def squares(Q: Array, K: Array) -> Any:
        apart = Q[..., :, None, :] - K[..., None, :, :]
        return (apart * apart).sum(axis=-1)

    for measure in (squares, lambda Q, K: np.sqrt(squares(Q, K))):
        yield from scaled_or_not(score=lambda Q, K, m=measure: -m(Q, K))
        yield from scaled_or_not(score=measure)


@in_both(
    "absolute dot product",
    about="scores output",
    told="Your code drops the sign of the dot product, or squares it. A key that points away from "
    "the query then matches as well as one that points its way.",
    question="Which weight should a key get that points exactly away from the query?",
)
def absolute() -> Iterator[Form]:
    yield from scaled_or_not(score=lambda Q, K: np.abs(products(Q, K)))
    yield from scaled_or_not(score=lambda Q, K: products(Q, K) ** 2)


@in_both(
    "sign turned round",
    about="form scores output scale given",
    told="Your code gives the key that matches worst the largest weight: a sign is turned round.",
    question="For the scores 0 and ln 3: which weight should be the larger?",
)
def sign_turned() -> Iterator[Form]:
    yield from scaled_or_not(score=lambda Q, K: -products(Q, K))


@in_both(
    "sum instead of dot product",
    about="form scores output",
    told="Your code adds the components of query and key, where a dot product multiplies them.",
    question="What is the dot product of (1, 2) and (3, 4)?",
)
def added() -> Iterator[Form]:
    yield from scaled_or_not(
        score=lambda Q, K: (Q[..., :, None, :] + K[..., None, :, :]).sum(axis=-1)
    )


@in_both(
    "product of sums",
    about="form scores output",
    told="Your code adds up the query and the key first and multiplies the two sums.",
    question="What is the dot product of (1, −1) and (1, −1)?",
)
def product_of_sums() -> Iterator[Form]:
    yield from scaled_or_not(
        score=lambda Q, K: Q.sum(axis=-1)[..., :, None] * K.sum(axis=-1)[..., None, :]
    )


@in_both(
    "one component only",
    about="form scores output",
    told="Your score is made of one component of query and key; the others have no say in it.",
    question="Over what does the sum of a dot product run?",
)
def one_component() -> Iterator[Form]:
    yield from scaled_or_not(score=lambda Q, K: products(Q[..., :1], K[..., :1]))
    yield from scaled_or_not(score=lambda Q, K: products(Q[..., -1:], K[..., -1:]))


@misconception(
    "attention",
    "values in the scores",
    about="form scores output",
    told="Your scores are made with the values. Values are what is found; only queries and keys "
    "say where.",
    question="If V is doubled, which of your weights change?",
)
def values_in_scores() -> Iterator[Form]:
    for factor in (root, unscaled):

        def exchanged(Q: Any, K: Any, V: Any, scale: Any = None, f: Factor = factor) -> Any:
            return built(factor=f)(Q, V, K, scale)

        def of_queries(Q: Any, K: Any, V: Any, scale: Any = None, f: Factor = factor) -> Any:
            return built(factor=f)(Q, V, V, scale)

        def of_keys(Q: Any, K: Any, V: Any, scale: Any = None, f: Factor = factor) -> Any:
            return built(factor=f)(V, K, V, scale)

        yield from (exchanged, of_queries, of_keys)


@misconception(
    "attention",
    "later keys hidden",
    about="form scores output",
    told="Your code hides the keys that stand after a query (a causal mask). Nobody asked for that "
    "here: every query sees every key, and queries and keys need not be the same positions.",
    question="Which line of your code asks whether a key may be seen?",
)
def causal() -> Iterator[Form]:
    def hide(offset: Callable[[int, int], int]) -> Weigh:
        def weigh(scores: Array) -> Any:
            S_q, S_k = scores.shape[-2:]
            seen = np.tri(S_q, S_k, offset(S_q, S_k), dtype=bool)
            return lesson_01.right_softmax(np.where(seen, scores, -np.inf))

        return weigh

    yield from scaled_or_not(weigh=hide(lambda S_q, S_k: 0))
    yield from scaled_or_not(weigh=hide(lambda S_q, S_k: S_k - S_q))


# --- weights ----------------------------------------------------------------------------------


@misconception(
    "attention",
    "softmax along the queries",
    about="form scores output range",
    told="Your softmax runs along the queries: the columns of the table sum to 1. Then one query "
    "gets more than a whole and another less, and other queries decide how much.",
    question="Who shares the 1: the keys that one query looks at, or the queries that look at one "
    "key?",
    source="spdlearn/spd_learn#28; nerminnuraydogan/vision-transformer#1",
)
def along_queries() -> Iterator[Form]:
    for axis in (-2, 0):
        yield from scaled_or_not(weigh=lambda s, axis=axis: softmax(s, axis))


@misconception(
    "attention",
    "softmax over the whole table",
    about="form scores output range leading",
    told="Your softmax runs over the whole table at once: all its weights together sum to 1, and "
    "those of a single query do not.",
    question="Along which axis do the keys of one query lie?",
)
def over_table() -> Iterator[Form]:
    yield from scaled_or_not(weigh=lambda s: softmax(s, None))
    yield from scaled_or_not(weigh=lambda s: softmax(s.reshape(*s.shape[:-2], -1)).reshape(s.shape))

    def own_maxima(scores: Array) -> Any:
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return e / e.sum()

    yield from scaled_or_not(weigh=own_maxima)


@misconception(
    "attention",
    "keepdims missing",
    about="form scores leading",
    told="Your maximum or your sum loses the axis it was taken along (or gets a new one in a fixed "
    "place), and then lines up with another axis of the scores.",
    question="Of what shape must the sum be to divide each row by its own, in a stack too?",
)
def keepdims_missing() -> Iterator[Form]:
    def over_sum(scores: Array) -> Any:
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1)

    def both(scores: Array) -> Any:
        e = np.exp(scores - scores.max(axis=-1))
        return e / e.sum(axis=-1)

    def maximum(scores: Array) -> Any:
        e = np.exp(scores - scores.max(axis=-1))
        return e / e.sum(axis=-1, keepdims=True)

    def new_axis(scores: Array) -> Any:
        e = np.exp(scores - scores.max(axis=-1)[:, None])
        return e / e.sum(axis=-1)[:, None]

    for weigh in (over_sum, both, maximum, new_axis):
        yield from scaled_or_not(weigh=weigh)


@in_both(
    "no softmax",
    about="form scores output scale given",
    told="Your code uses the scores themselves as weights. They may be negative, and they sum to "
    "anything.",
    question="Which step turns a row of scores into shares of a whole?",
)
def no_softmax() -> Iterator[Form]:
    yield from scaled_or_not(weigh=lambda s: s)


@in_both(
    "scores divided without exp",
    about="form scores output scale given",
    told="Your code divides the scores by their sum, without the exponential.",
    question="Which step makes every score positive before you divide?",
)
def without_exp() -> Iterator[Form]:
    yield from scaled_or_not(weigh=lambda s: s / s.sum(axis=-1, keepdims=True))
    yield from scaled_or_not(weigh=lambda s: np.abs(s) / np.abs(s).sum(axis=-1, keepdims=True))


@in_both(
    "exponentials not divided",
    about="form scores output",
    told="Your weights are exponentials that nobody divided by their sum.",
    question="What turns positive numbers into shares of a whole?",
)
def not_divided() -> Iterator[Form]:
    yield from scaled_or_not(weigh=np.exp)
    yield from scaled_or_not(weigh=lambda s: np.exp(s - s.max(axis=-1, keepdims=True)))


@in_both(
    "softmax twice",
    about="form scores output scale given",
    told="Your code runs a softmax over weights that have been through one already. Weights lie "
    "between 0 and 1, so the second one makes them nearly equal.",
    question="How many times is a softmax called on the way from scores to weights?",
    source="a common report with a loss that holds a softmax of its own",
)
def softmax_twice() -> Iterator[Form]:
    yield from scaled_or_not(weigh=lambda s: softmax(softmax(s)))


@in_both(
    "only the largest counts",
    about="form scores output scale given",
    told="Your code gives all the weight to the best match. That is the hard lookup of a dict; in "
    "the soft one every key gets a little.",
    question="For the scores 0 and ln 3: what shares should the two keys get?",
)
def hard() -> Iterator[Form]:
    def one_hot(scores: Array) -> Any:
        return np.eye(scores.shape[-1])[scores.argmax(axis=-1)]

    def all_best(scores: Array) -> Any:
        return (scores == scores.max(axis=-1, keepdims=True)).astype(float)

    yield built(weigh=one_hot)
    yield built(weigh=all_best)


@in_both(
    "sigmoid of each score",
    about="form scores output scale given",
    told="Your code treats each score by itself (a sigmoid), so nothing makes the weights of a "
    "query sum to 1.",
    question="Where do the other keys come into one weight?",
)
def sigmoid() -> Iterator[Form]:
    yield from scaled_or_not(weigh=lambda s: 1 / (1 + np.exp(-s)))


@in_both(
    "logarithm of the weights",
    about="form scores output",
    told="Your weights are logarithms (a log-softmax): they are 0 or below.",
    question="What is still to be done to a logarithm to get the weight itself?",
)
def logarithms() -> Iterator[Form]:
    yield from scaled_or_not(weigh=lambda s: np.log(softmax(s)))


@in_both(
    "weights rounded",
    about="form scores",
    told="Your code rounds the weights. Rounded shares need not sum to 1, and small ones are lost.",
    question="Who needs the rounding, the computation or the reader?",
)
def rounded() -> Iterator[Form]:
    def inside(digits: int) -> Form:
        return built(weigh=lambda s: np.round(softmax(s), digits))

    def at_the_end(digits: int) -> Form:
        return built(give=lambda o, w, s: (np.round(o, digits), np.round(w, digits)))

    for digits in range(1, 7):
        yield inside(digits)
        yield at_the_end(digits)


@in_both(
    "large epsilon",
    about="form scores",
    told="Your code adds a small number to the sum before it divides. One that is too large takes a"
    " visible share of the weights, so they sum to less than 1.",
    question="What is the sum at least, once the maximum has been subtracted: can it be 0 at all?",
)
def large_epsilon() -> Iterator[Form]:
    def added_to_sum(epsilon: float, shift: Callable[[Array], Any]) -> Weigh:
        def weigh(scores: Array) -> Any:
            e = np.exp(scores - shift(scores))
            return e / (e.sum(axis=-1, keepdims=True) + epsilon)

        return weigh

    for epsilon in (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0):
        yield built(weigh=added_to_sum(epsilon, lambda s: s.max(axis=-1, keepdims=True)))
        yield built(weigh=added_to_sum(epsilon, lambda s: 0.0))


# --- scale ------------------------------------------------------------------------------------


@in_both(
    "no scale",
    about="scale",
    told="Your scores are the dot products as they are. They grow with the width of the vectors, "
    "so the weights get sharper the wider the vectors are.",
    question="By what are the scores divided in the formula?",
    source="Project-MONAI/GenerativeModels#146; ethen8181/machine-learning#13",
)
def no_scale() -> Iterator[Form]:
    yield built(factor=unscaled)


@in_both(
    "multiplied by √d_k",
    about="scale",
    told="Your code multiplies the scores by √d_k, where the formula divides by it.",
    question="Should wider vectors give larger scores or not?",
    source="rasbt/LLMs-from-scratch#856; esceptico/perceiver-io#9",
)
def multiplied() -> Iterator[Form]:
    yield built(factor=lambda Q, K, V: math.sqrt(Q.shape[-1]))
    yield built(factor=lambda Q, K, V: Q.shape[-1])


@in_both(
    "divided by d_k",
    about="scale given",
    told="Your code divides the scores by d_k: at once, or by its root twice (in the queries and "
    "again in the scores). The weights become flatter the wider the vectors are.",
    question="How often does your code divide on the way from Q and K to the scores, and by what?",
    source="AI-Hypercomputer/maxtext#1349",
)
def by_width() -> Iterator[Form]:
    def twice(Q: Array, scores: Array, scale: Any) -> Any:
        factor = Q.shape[-1] ** -0.5 if scale is None else scale
        return scores * factor * factor

    yield built(factor=lambda Q, K, V: 1 / Q.shape[-1])
    yield with_scale(twice)


@in_both(
    "fourth root of d_k",
    about="scale",
    told="Your code divides by the fourth root of d_k: by √√d_k, or only one of Q and K by it.",
    question="When Q and K are both scaled, what is the score scaled by?",
)
def fourth_root() -> Iterator[Form]:
    yield built(factor=lambda Q, K, V: Q.shape[-1] ** -0.25)


@in_both(
    "scaled by the width of the values",
    about="scale range",
    told="Your code takes the scale from the width of the values. While that is the width of the "
    "keys nobody sees it.",
    question="Whose components are added up in a score?",
    source="juho-lee/set_transformer#18; cneuralnetwork/solving-ml-papers#1",
)
def by_value_width() -> Iterator[Form]:
    yield built(factor=lambda Q, K, V: V.shape[-1] ** -0.5)
    yield built(factor=lambda Q, K, V: 1 / V.shape[-1])


@in_both(
    "scaled by the number of keys",
    about="scale range",
    told="Your code takes the scale from the number of keys. A longer sentence then gives flatter "
    "weights.",
    question="Whose components are added up in a score, and how many are they?",
)
def by_key_count() -> Iterator[Form]:
    yield built(factor=lambda Q, K, V: K.shape[-2] ** -0.5)
    yield built(factor=lambda Q, K, V: 1 / K.shape[-2])


@misconception(
    "attention",
    "scaled by the number of queries",
    about="scale range",
    told="Your code takes the scale from the number of queries: a query's weights then depend on "
    "how many others ask beside it.",
    question="Whose components are added up in a score, and how many are they?",
)
def by_query_count() -> Iterator[Form]:
    yield built(factor=lambda Q, K, V: Q.shape[-2] ** -0.5)
    yield built(factor=lambda Q, K, V: len(Q) ** -0.5)
    yield built(factor=lambda Q, K, V: 1 / Q.shape[-2])
    yield built(factor=lambda Q, K, V: Q.size**-0.5)


@in_both(
    "scale written as a number",
    about="scale",
    told="Your code scales by a fixed number. It is right for one width of the vectors only.",
    question="Where does the number come from, and what would it be for vectors of another width?",
    source="BobMcDear/attorch#14",
)
def fixed_scale() -> Iterator[Form]:
    for factor in (0.5, 0.25, 0.125, 0.1, 0.01, 2.0, 8.0, *(n**-0.5 for n in (2, 3, 5, 6, 8, 9))):
        yield built(factor=always(factor))
    for width in (32, 128, 256, 512, 768):
        yield built(factor=always(width**-0.5))


@in_both(
    "scale after the softmax",
    about="form scores output",
    told="Your code scales the weights, after the softmax. They no longer sum to 1, and the scores "
    "went into the exponential unscaled.",
    question="Which numbers does the formula divide: the scores or the weights?",
)
def scaled_after() -> Iterator[Form]:
    def attention(Q: Any, K: Any, V: Any, scale: float | None = None) -> Any:
        Q, K, V = (np.asarray(each) for each in (Q, K, V))
        weights = softmax(products(Q, K)) * (root(Q, K, V) if scale is None else scale)
        return weights @ V, weights

    yield attention
    yield built(factor=unscaled, mix=lambda w, Q, K, V: (w @ V) * root(Q, K, V))
    yield built(mix=lambda w, Q, K, V: (w @ V) * root(Q, K, V))


@in_both(
    "floor division",
    about="form scores scale",
    told="Your code divides with //, which cuts the scores down to whole numbers.",
    question="What is 7 // 2, and what is 7 / 2?",
)
def floor_division() -> Iterator[Form]:
    def floored(Q: Array, scores: Array, scale: Any) -> Any:
        return scores // math.sqrt(Q.shape[-1]) if scale is None else scores * scale

    yield with_scale(floored)
    yield built(weigh=lambda s: softmax(np.floor(s)))


@misconception(
    "attention",
    "no parameter for the scale",
    about="given",
    told="Your function has no parameter `scale`, so nobody can give it one.",
    question="How is a parameter written that may be left out?",
)
def no_parameter() -> Iterator[Form]:
    def attention(Q: Any, K: Any, V: Any) -> Any:
        return right_attention(Q, K, V)

    yield attention


@misconception(
    "attention",
    "given scale ignored",
    about="given",
    told="Your code takes a scale but always uses 1/√d_k.",
    question="Where in your code does `scale` have an effect?",
)
def given_ignored() -> Iterator[Form]:
    yield with_scale(lambda Q, scores, scale: scores * Q.shape[-1] ** -0.5)
    yield with_scale(lambda Q, scores, scale: scores)


@misconception(
    "attention",
    "given scale used as a divisor",
    about="given",
    told="Your code divides by the scale that it is given. The promise is that it multiplies the "
    "scores.",
    question="With scale=0.0 all scores must be 0. What does your code do then?",
    source="esceptico/perceiver-io#9",
)
def given_divides() -> Iterator[Form]:
    yield with_scale(lambda Q, s, scale: s / (Q.shape[-1] ** 0.5 if scale is None else scale))
    yield with_scale(lambda Q, s, scale: s / np.sqrt(Q.shape[-1] if scale is None else scale))


@misconception(
    "attention",
    "scale of 0 taken for none",
    about="given",
    told="Your code asks whether the scale is true, and 0.0 is not: it is taken for no scale at "
    "all. 0.0 is a scale like any other, and makes all weights equal.",
    question="How can you ask whether `scale` is None, and nothing else?",
    source="a common slip: `scale or default`",
)
def zero_is_none() -> Iterator[Form]:
    yield with_scale(lambda Q, s, scale: s * (scale or Q.shape[-1] ** -0.5))
    yield with_scale(lambda Q, s, scale: s * scale if scale else s)


@misconception(
    "attention",
    "given scale on top of 1/√d_k",
    about="given",
    told="Your code multiplies by the scale that it is given and by 1/√d_k as well.",
    question="What does the default stand in for?",
)
def given_on_top() -> Iterator[Form]:
    yield with_scale(lambda Q, s, scale: s * Q.shape[-1] ** -0.5 * (1 if scale is None else scale))


# --- output -----------------------------------------------------------------------------------


@in_both(
    "keys used as values",
    about="form output",
    told="Your code mixes the keys. They only say where to look; what is found there are the "
    "values. When K and V are the same array nobody sees it.",
    question="What is the width of an output: that of a key or that of a value?",
    source="ruvnet/agentic-flow#191",
)
def keys_as_values() -> Iterator[Form]:
    yield from scaled_or_not(mix=lambda w, Q, K, V: w @ K)


@misconception(
    "attention",
    "queries used as values",
    about="form output",
    told="Your code mixes the queries. They only ask; what is found are the values.",
    question="If V changes, which of your numbers change?",
)
def queries_as_values() -> Iterator[Form]:
    yield from scaled_or_not(mix=lambda w, Q, K, V: w @ Q)


@misconception(
    "attention",
    "weights transposed",
    about="form output",
    told="Your code mixes the values with the transposed weights: each output is made with the "
    "shares that all the queries give to one key, which do not even sum to 1.",
    question="Which row or column of the weights belongs to one query, and which one meets V?",
)
def weights_transposed() -> Iterator[Form]:
    yield from scaled_or_not(mix=lambda w, Q, K, V: transposed(w) @ V)


@misconception(
    "attention",
    "output transposed",
    about="form output",
    told="Your output is transposed: a row for each component of the values.",
    question="Of what shape must the output be for 2 queries and values of width 3?",
)
def output_transposed() -> Iterator[Form]:
    yield from scaled_or_not(mix=lambda w, Q, K, V: transposed(w @ V))


@in_both(
    "mean of the values",
    about="form output",
    told="Your code averages the values without regard to the weights.",
    question="Where do the weights come into your output?",
)
def plain_mean() -> Iterator[Form]:
    def mean(w: Array, Q: Array, K: Array, V: Array) -> Any:
        return np.ones_like(w) / w.shape[-1] @ V

    yield from scaled_or_not(mix=mean)
    yield from scaled_or_not(mix=lambda w, Q, K, V: np.ones_like(w) @ V)


@in_both(
    "divided once more",
    about="form output",
    told="Your code divides the weighted sum by the number of keys. The weights sum to 1 already, "
    "so it is an average as it is.",
    question="What does the output become when all the values are alike?",
)
def averaged_again() -> Iterator[Form]:
    yield from scaled_or_not(mix=lambda w, Q, K, V: w @ V / w.shape[-1])
    yield from scaled_or_not(mix=lambda w, Q, K, V: w @ V / V.shape[-1])


@in_both(
    "value of the best key",
    about="form output",
    told="Your output is the value of the key with the largest weight alone. That is the hard "
    "lookup of a dict; in the soft one every value comes in by its weight.",
    question="For the weights 1/4 and 3/4: what part of the output is the first value?",
)
def best_value() -> Iterator[Form]:
    yield from scaled_or_not(mix=lambda w, Q, K, V: np.eye(w.shape[-1])[w.argmax(axis=-1)] @ V)


@in_both(
    "scores mixed instead of weights",
    about="form output",
    told="Your weights are right, but the values are mixed by the scores, not by them.",
    question="Which of your variables meets the values?",
)
def scores_mixed() -> Iterator[Form]:
    yield from scaled_or_not(
        weigh=lambda s: s, give=lambda output, weights, scores: (output, softmax(scores))
    )


@in_both(
    "exponentials mixed instead of weights",
    about="form output",
    told="Your weights are right, but the values are mixed by the exponentials, before these are "
    "divided by their sum.",
    question="Which of your variables meets the values, and what does it sum to?",
)
def exponentials_mixed() -> Iterator[Form]:
    for weigh in (np.exp, lambda s: np.exp(s - s.max(axis=-1, keepdims=True))):
        yield from scaled_or_not(
            weigh=weigh, give=lambda output, weights, scores: (output, softmax(scores))
        )


@in_both(
    "components added instead of keys",
    about="form output",
    told="Your output adds up the components of each value and keeps the keys apart: one number "
    "for each key. It must be the other way round.",
    question="Over what does the sum of the weighted average run?",
)
def components_added() -> Iterator[Form]:
    yield from scaled_or_not(
        mix=lambda w, Q, K, V: (w[..., None] * V[..., None, :, :]).sum(axis=-1)
    )
    yield from scaled_or_not(mix=lambda w, Q, K, V: w * V.sum(axis=-1)[..., None, :])


@misconception(
    "attention",
    "query added to the output",
    about="form output",
    told="Your code adds its input to the output. That is a residual connection: a model has one "
    "around attention, not inside it.",
    question="Which terms does the formula's last product have?",
)
def residual() -> Iterator[Form]:
    yield from scaled_or_not(mix=lambda w, Q, K, V: w @ V + V)
    yield from scaled_or_not(mix=lambda w, Q, K, V: w @ V + Q)


# --- stacks of tables -------------------------------------------------------------------------


@misconception(
    "attention",
    "all axes of K reversed",
    about="leading",
    told="Your code uses K.T, which reverses all axes. For one table that is a transpose; in a "
    "stack it moves the leading axes to the end.",
    question="Which two axes have to be exchanged when there are three or four?",
    source="HomericIntelligence/Odyssey#5648",
)
def all_reversed() -> Iterator[Form]:
    yield from scaled_or_not(score=lambda Q, K: Q @ K.T)


@misconception(
    "attention",
    "np.dot on stacks",
    about="leading",
    told="Your code uses np.dot. For two tables it is the same as @; on stacks it multiplies every "
    "table of one with every table of the other.",
    question="For A (2, 3, 4) and B (2, 4, 5): of what shape is np.dot(A, B), and A @ B?",
)
def dot_on_stacks() -> Iterator[Form]:
    def mix(w: Array, Q: Array, K: Array, V: Array) -> Any:
        return np.dot(w, V)

    yield from scaled_or_not(score=lambda Q, K: np.dot(Q, K.T), mix=mix)
    yield from scaled_or_not(score=lambda Q, K: np.dot(Q, transposed(K)), mix=mix)
    yield from scaled_or_not(score=lambda Q, K: np.dot(Q, transposed(K)))
    yield from scaled_or_not(mix=mix)


@misconception(
    "attention",
    "axis counted from the front",
    about="leading",
    told="Your softmax runs along axis 1. In one table that are the keys; in a stack, where axes "
    "stand in front, they are the queries.",
    question="Counted from which end is the axis of the keys always the same?",
)
def axis_from_front() -> Iterator[Form]:
    yield from scaled_or_not(weigh=lambda s: softmax(s, min(1, s.ndim - 1)))


@misconception(
    "attention",
    "d_k read from a fixed axis",
    about="leading",
    told="Your code reads d_k from axis 1 (or from another axis counted from the front). In a stack"
    " that is something else, so the scale changes.",
    question="Counted from which end is the axis of d_k always the same?",
    source="pytorch/pytorch#95259",
)
def width_from_front() -> Iterator[Form]:
    yield built(factor=lambda Q, K, V: Q.shape[1] ** -0.5)
    yield built(factor=lambda Q, K, V: K.shape[1] ** -0.5)


@misconception(
    "attention",
    "written for one number of axes",
    about="leading form scores",
    told="Your code counts axes from the front (axes 1 and 2, or one letter for each axis of an "
    "einsum), so it works for arrays with that many axes only.",
    question="How can the last two axes be named, whatever stands in front of them?",
)
def one_number_of_axes() -> Iterator[Form]:
    for transpose in (
        lambda K: np.swapaxes(K, 0, 1),
        lambda K: np.swapaxes(K, 1, 2),
        lambda K: np.swapaxes(K, 2, 3),
        lambda K: np.transpose(K, (0, 2, 1)),
        lambda K: np.transpose(K, (0, 1, 3, 2)),
    ):
        yield from scaled_or_not(score=lambda Q, K, transpose=transpose: Q @ transpose(K))
    for pair, mixing in (
        ("qd,kd->qk", "qk,kv->qv"),
        ("bqd,bkd->bqk", "bqk,bkv->bqv"),
        ("bhqd,bhkd->bhqk", "bhqk,bhkv->bhqv"),
    ):
        yield from scaled_or_not(
            score=lambda Q, K, pair=pair: np.einsum(pair, Q, K),
            mix=lambda w, Q, K, V, mixing=mixing: np.einsum(mixing, w, V),
        )

    def unpacked(Q: Any, K: Any, V: Any, scale: float | None = None) -> Any:
        _, _ = np.shape(Q)
        return right_attention(Q, K, V, scale)

    def table_by_table(Q: Any, K: Any, V: Any, scale: float | None = None) -> Any:
        tables = [built()(Q[i], K[i], V[i], scale) for i in range(len(Q))]
        return np.stack([o for o, _ in tables]), np.stack([w for _, w in tables])

    yield unpacked
    yield table_by_table


@misconception(
    "attention",
    "stack merged into one sequence",
    about="leading",
    told="Your code lays the tables of a stack behind each other, so queries look at the keys of "
    "other tables too.",
    question="Which keys may the first query of the second table look at?",
)
def merged() -> Iterator[Form]:
    def attention(Q: Any, K: Any, V: Any, scale: float | None = None) -> Any:
        flat = (np.reshape(each, (-1, np.shape(each)[-1])) for each in (Q, K, V))
        output, weights = right_attention(*flat, scale)
        return output.reshape(*np.shape(Q)[:-1], -1), weights

    yield attention

    def across(scores: Array) -> Any:
        return softmax(scores, (*range(scores.ndim - 2), -1))

    yield from scaled_or_not(weigh=across)


@misconception(
    "attention",
    "only the first table of a stack",
    about="leading",
    told="Your code computes the first table of a stack and gives its result to all of them.",
    question="If the last table changes, which of your numbers change?",
)
def first_table() -> Iterator[Form]:
    def attention(Q: Any, K: Any, V: Any, scale: float | None = None) -> Any:
        first = tuple(0 for _ in np.shape(Q)[:-2])
        parts = right_attention(*(np.asarray(each)[first] for each in (Q, K, V)), scale)
        lead = np.shape(Q)[:-2]
        return tuple(np.broadcast_to(part, (*lead, *part.shape)).copy() for part in parts)

    def weights_of_first(weights: Array) -> Any:
        first = tuple(0 for _ in weights.shape[:-2])
        return np.broadcast_to(softmax(weights)[first], weights.shape).copy()

    yield attention
    yield from scaled_or_not(weigh=weights_of_first)


@misconception(
    "attention",
    "axes of length 1 dropped",
    about="leading form",
    told="Your code squeezes its results: an axis of length 1 disappears. One query is a row of "
    "its own, and a stack of one table is a stack.",
    question="Of what shape must the output be for one query and values of width 3?",
    source="allenai/allennlp#3599; NVIDIA/tacotron2#303",
)
def squeezed() -> Iterator[Form]:
    yield from scaled_or_not(give=lambda o, w, s: (np.squeeze(o), np.squeeze(w)))
    yield from scaled_or_not(give=lambda o, w, s: (np.squeeze(o), w))
    yield from scaled_or_not(give=lambda o, w, s: (o, np.squeeze(w)))


# --- the range of scores ----------------------------------------------------------------------


def list_form(shift: Callable[[list[float]], float]) -> Form:
    """A plain-Python attend that subtracts `shift(scores)` before the exponential."""

    def attend(query: Any, keys: Any, values: Any) -> Any:
        scores = [oracle.dot(query, key) / math.sqrt(len(query)) for key in keys]
        exponentials = [math.exp(score - shift(scores)) for score in scores]
        weights = [e / sum(exponentials) for e in exponentials]
        return [oracle.dot(weights, column) for column in zip(*values, strict=True)], weights

    return attend


def in_range(
    name: str,
    forms: Callable[[], Iterable[Form]],
    told: str,
    question: str,
    shifts: Sequence[Callable[[list[float]], float]] | None = (),
) -> None:
    """Register a softmax of lesson 1 that fails on some scores, as it appears inside attention.

    `shifts` make its plain-Python forms, which raise where NumPy gives NaN; None says that it
    cannot be with one query.
    """

    def in_arrays() -> Iterator[Form]:
        for form in forms():
            yield built(weigh=form)

    def in_lists() -> Iterator[Form]:
        yield from map(listed, in_arrays())
        yield from map(list_form, shifts or ())

    misconception("attention", name, "range", told, question)(in_arrays)
    if shifts is not None:
        misconception("attend", name, "range", told, question)(in_lists)


in_range(
    "no maximum subtracted",
    lesson_01.no_maximum,
    "Your code takes the exponential of the scores as they are: large ones overflow, and a row of "
    "low ones leaves nothing to divide by.",
    "Which number could be taken from every score of a query without changing a weight?",
    [lambda scores: 0.0],
)
in_range(
    "maximum of the whole table",
    lesson_01.maximum_of_all,
    "Your code subtracts one maximum, that of the whole table, from every row. A row far below it "
    "has only exponentials that underflow to 0.",
    "What must the maximum's shape be for each query to be shifted by its own?",
    None,
)
in_range(
    "maximum starts at zero",
    lesson_01.maximum_starts_at_zero,
    "Your maximum is never below 0, because it starts there. When all scores of a query lie far "
    "below zero, nothing is left to divide by.",
    "Where must a search for a maximum start, so that any score can replace it?",
    [lambda scores: max(0.0, *scores)],
)
in_range(
    "maximum of absolute values",
    lesson_01.maximum_of_absolutes,
    "Your code subtracts the largest absolute value, which pushes low scores down further.",
    "For the scores −1000 and −1001: what do you subtract, and what is left in the exponent?",
    [lambda scores: max(map(abs, scores))],
)
in_range(
    "maximum with a floor",
    lesson_01.maximum_with_floor,
    "Your code keeps the maximum from falling below a fixed number. Ordinary scores below that "
    "number are lost.",
    "What can be said of a query whose scores are all below your number?",
    [lambda scores: max(-1e4, *scores), lambda scores: max(-5e4, *scores)],
)
in_range(
    "another number than the maximum",
    lambda: (*lesson_01.mean_subtracted(), *lesson_01.minimum_subtracted()),
    "Your code subtracts something that need not be the largest score (the mean, the first, the "
    "smallest). A score far above it still overflows.",
    "Which choice makes sure that no exponent is above 0?",
    [
        lambda scores: sum(scores) / len(scores),
        lambda scores: scores[0],
        lambda scores: scores[-1],
        min,
    ],
)
in_range(
    "scores clipped",
    lesson_01.scores_clipped,
    "Your code clips the scores so that exp cannot overflow. Scores beyond the limit become equal.",
    "Could you shift the whole row instead, so that its differences stay as they are?",
)


# --- number types -----------------------------------------------------------------------------


def in_type(dtype_of: Callable[[Array], Any], whole: bool = True) -> Form:
    """An attention that computes in the dtype `dtype_of(Q)`, or only keeps its weights in it."""

    def attention(Q: Any, K: Any, V: Any, scale: float | None = None) -> Any:
        Q, K, V = (np.asarray(each) for each in (Q, K, V))
        dtype = dtype_of(Q)
        with np.errstate(all="ignore"):
            factor = root(Q, K, V) if scale is None else scale
            if whole:
                Q, K, V = (each.astype(dtype) for each in (Q, K, V))
            weights = softmax((products(Q, K) * factor).astype(dtype)).astype(dtype)
            return weights @ V, weights

    return attention


@misconception(
    "attention",
    "integer result",
    about="kinds",
    told="Your code keeps scores, weights or the output in the type of its input. For integers "
    "every share below 1 is cut off to 0.",
    question="Which type must a number have to be able to hold 1/3?",
    source="a question-and-answer thread on a softmax written into np.zeros_like(scores)",
)
def integer_result() -> Iterator[Form]:
    def cut(part: Callable[[Array, Array], Array]) -> Callable[..., Any]:
        def attention(Q: Any, K: Any, V: Any, scale: float | None = None) -> Any:
            output, weights = right_attention(Q, K, V, scale)
            return part(output, weights)

        return attention

    def kept(Q: Any, K: Any, V: Any, scale: float | None = None) -> Any:
        output, weights = right_attention(Q, K, V, scale)
        return output.astype(np.asarray(V).dtype), weights.astype(np.asarray(Q).dtype)

    def output_kept(Q: Any, K: Any, V: Any, scale: float | None = None) -> Any:
        output, weights = right_attention(Q, K, V, scale)
        return output.astype(np.asarray(V).dtype), weights

    def scores_kept(Q: Any, K: Any, V: Any, scale: float | None = None) -> Any:
        Q, K, V = (np.asarray(each) for each in (Q, K, V))
        factor = root(Q, K, V) if scale is None else scale
        weights = softmax((products(Q, K) * factor).astype(Q.dtype))
        return weights @ V, weights

    def queries_kept(Q: Any, K: Any, V: Any, scale: float | None = None) -> Any:
        Q, K, V = (np.asarray(each) for each in (Q, K, V))
        factor = root(Q, K, V) if scale is None else scale
        weights = softmax(products((Q * factor).astype(Q.dtype), K))
        return weights @ V, weights

    yield in_type(lambda Q: Q.dtype)
    yield in_type(lambda Q: Q.dtype, whole=False)
    yield from (kept, output_kept, scores_kept, queries_kept)


@misconception(
    "attention",
    "16 bits inside",
    about="form scores output range kinds",
    told="Your code computes in float16, which keeps about three digits and ends at 65,504.",
    question="How many digits are left of 1000.5 in float16?",
)
def half_inside() -> Iterator[Form]:
    yield in_type(lambda Q: np.float16)
    yield in_type(lambda Q: np.float16, whole=False)


@misconception(
    "attention",
    "32 bits inside",
    about="range",
    told="Your code computes in float32, which keeps about seven digits: of large scores nothing "
    "is left behind the point.",
    question="Which type did the arrays have, and where do you leave it?",
)
def single_inside() -> Iterator[Form]:
    yield in_type(lambda Q: np.float32)
    yield in_type(lambda Q: np.float32, whole=False)


@misconception(
    "attention",
    "scores scaled in place",
    about="kinds",
    told="Your code scales its scores in place. Dot products of integers are integers, and an "
    "array of integers cannot take numbers with a fraction.",
    question="What is the difference between `a *= b` and `a = a * b` for an array of integers?",
)
def scores_in_place() -> Iterator[Form]:
    def by(change: Callable[[Array, Any], Any]) -> Form:
        def attention(Q: Any, K: Any, V: Any, scale: float | None = None) -> Any:
            scores = products(Q, K)
            change(scores, root(Q, K, V) if scale is None else scale)
            weights = softmax(scores)
            return weights @ V, weights

        return attention

    yield by(lambda scores, factor: np.multiply(scores, factor, out=scores))
    yield by(lambda scores, factor: np.divide(scores, 1 / (factor or 1e-300), out=scores))


# --- the caller's data ------------------------------------------------------------------------


@misconception(
    "attention",
    "arrays changed in place",
    about="changes kinds",
    told="Your code scales the caller's own array. The next call with it computes something else; "
    "an array of integers or one that cannot be written to stops it at once.",
    question="Which of your lines changes an array that you were given, and what makes a new one?",
    source="hao-ai-lab/FastVideo#1457",
)
def changed_in_place() -> Iterator[Form]:
    def by(change: Callable[[Array, Array, Array, Any], None], left: bool) -> Form:
        def attention(Q: Any, K: Any, V: Any, scale: float | None = None) -> Any:
            factor = 1 / math.sqrt(Q.shape[-1]) if scale is None else scale
            change(Q, K, V, factor)
            weights = softmax(products(Q, K) * (factor if left else 1.0))
            return weights @ V, weights

        return attention

    def queries(Q: Array, K: Array, V: Array, factor: Any) -> None:
        Q *= factor

    def queries_divided(Q: Array, K: Array, V: Array, factor: Any) -> None:
        Q /= 1 / factor if factor else math.inf

    def queries_written(Q: Array, K: Array, V: Array, factor: Any) -> None:
        Q[...] = Q * factor

    def keys(Q: Array, K: Array, V: Array, factor: Any) -> None:
        K *= factor

    def keys_divided(Q: Array, K: Array, V: Array, factor: Any) -> None:
        K /= 1 / factor if factor else math.inf

    yield from (by(change, False) for change in (queries, queries_divided, queries_written))
    yield from (by(change, False) for change in (keys, keys_divided))


@misconception(
    "attend",
    "lists changed in place",
    about="changes",
    told="Your code writes into a list that the caller handed over. The next call with it computes "
    "something else.",
    question="Which of your lines changes a list that you were given, and what makes a new one?",
)
def lists_changed() -> Iterator[Form]:
    def scales_query(query: Any, keys: Any, values: Any) -> Any:
        answer = right_attend(query, keys, values)
        divisor = math.sqrt(len(query))
        for index, component in enumerate(query):
            query[index] = component / divisor
        return answer

    def scales_keys(query: Any, keys: Any, values: Any) -> Any:
        answer = right_attend(query, keys, values)
        for key in keys:
            for index, component in enumerate(key):
                key[index] = component / math.sqrt(len(query))
        return answer

    def weighs_values(query: Any, keys: Any, values: Any) -> Any:
        output, weights = right_attend(query, keys, values)
        for weight, value in zip(weights, values, strict=True):
            for index, component in enumerate(value):
                value[index] = weight * component
        return output, weights

    def replaces_values(query: Any, keys: Any, values: Any) -> Any:
        output, weights = right_attend(query, keys, values)
        for index, weight in enumerate(weights):
            values[index] = [weight * component for component in values[index]]
        return output, weights

    def adds_into_first(query: Any, keys: Any, values: Any) -> Any:
        output, weights = right_attend(query, keys, values)
        values[0][:] = output
        return output, weights

    def empties(query: Any, keys: Any, values: Any) -> Any:
        answer = right_attend(query, keys, values)
        keys.clear()
        return answer

    yield from (scales_query, scales_keys, weighs_values, replaces_values, adds_into_first, empties)


# --- attend alone -----------------------------------------------------------------------------


def of_weights(mix: Callable[[list[float], Any, Any], Any]) -> Iterator[Form]:
    """An attend whose output is `mix(weights, values, query)`, scaled or not."""
    for factor in (root, unscaled):

        def attend(query: Any, keys: Any, values: Any, factor: Factor = factor) -> Any:
            weights = listed(built(factor=factor))(query, keys, values)[1]
            return mix(weights, values, query), weights

        yield attend


@misconception(
    "attend",
    "weights met with components of a value",
    about="form output",
    told="Your output multiplies the weights with the components of one value. There is one weight "
    "for each key, and it belongs to a whole value, not to a place inside it.",
    question="Number c of the output is made from which numbers of the values?",
)
def weights_with_components() -> Iterator[Form]:
    def along(weights: list[float], values: Any, query: Any) -> Any:
        return [sum(w * x for w, x in zip(weights, value, strict=False)) for value in values]

    def first_value(weights: list[float], values: Any, query: Any) -> Any:
        return [w * x for w, x in zip(weights, values[0], strict=False)]

    yield from of_weights(along)
    yield from of_weights(first_value)


@misconception(
    "attend",
    "weighted values not added",
    about="form output",
    told="Your output is the list of all values, each multiplied by its weight. They have yet to be"
    " added up to one vector.",
    question="How many numbers must the output have, and how many has yours?",
)
def not_added() -> Iterator[Form]:
    yield from of_weights(
        lambda weights, values, query: [
            [w * x for x in value] for w, value in zip(weights, values, strict=True)
        ]
    )
    yield from of_weights(
        lambda weights, values, query: [
            w * x for w, value in zip(weights, values, strict=True) for x in value
        ]
    )


@misconception(
    "attend",
    "only the last key counts",
    about="form output",
    told="Your output holds what the last key gave: every turn of the loop puts a new vector in its"
    " place instead of adding to it.",
    question="What does your output hold after the first turn of the loop, and after the second?",
)
def only_last() -> Iterator[Form]:
    yield from of_weights(lambda weights, values, query: [weights[-1] * x for x in values[-1]])


@misconception(
    "attend",
    "everything added to one number",
    about="form output",
    told="Your output is a single number: the components of the values are added up too.",
    question="Which sums belong together: those over the keys, or those over the components?",
)
def one_number() -> Iterator[Form]:
    yield from of_weights(
        lambda weights, values, query: sum(
            w * x for w, value in zip(weights, values, strict=True) for x in value
        )
    )


@misconception(
    "attend",
    "output as long as the query",
    about="form output",
    told="Your output has as many numbers as the query. It is made of values, and those have a "
    "length of their own.",
    question="Over what does your loop for the output run?",
)
def as_long_as_query() -> Iterator[Form]:
    def by_query(weights: list[float], values: Any, query: Any) -> Any:
        columns = range(len(query))
        return [sum(w * v[c] for w, v in zip(weights, values, strict=True)) for c in columns]

    yield from of_weights(by_query)
