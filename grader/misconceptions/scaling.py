"""Lesson 04: how people get spread, entropy and the softmax's gradient wrong; what they are told.

Forms are right but for their one mistake; sources are public issues."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from grader import oracle
from grader.misconceptions.family import Form, misconception, right

Array = np.ndarray
Draw = Callable[[Any, int, int], tuple[Array, Array]]
Measure = Callable[[Array, Array], Any]

right("softmax_backward")(oracle.softmax_backward)


# --- dot_product_std --------------------------------------------------------------------------
# The order in which numbers are drawn is free, and decides what comes out to the last digit: every
# mistake is tried with each of the usual orders. Each gives (n_samples, d_k) queries and keys.


def rows(rng: Any, n_samples: int, d_k: int) -> tuple[Array, Array]:
    """All queries, then all keys."""
    return rng.standard_normal((n_samples, d_k)), rng.standard_normal((n_samples, d_k))


def in_turn(rng: Any, n_samples: int, d_k: int) -> tuple[Array, Array]:
    """A query, its key, the next query: the order of a loop over samples."""
    drawn = rng.standard_normal((n_samples, 2, d_k))
    return drawn[:, 0], drawn[:, 1]


def columns(rng: Any, n_samples: int, d_k: int) -> tuple[Array, Array]:
    """All queries as columns, then all keys."""
    return rng.standard_normal((d_k, n_samples)).T, rng.standard_normal((d_k, n_samples)).T


def by_component(rng: Any, n_samples: int, d_k: int) -> tuple[Array, Array]:
    """A component of the query, the same of the key, the next of the query."""
    drawn = rng.standard_normal((n_samples, d_k, 2))
    return drawn[..., 0], drawn[..., 1]


ORDERS: tuple[Draw, ...] = (rows, in_turn, columns, by_component)


def dots(q: Array, k: Array) -> Array:
    """The dot product of each query with its key."""
    return (q * k).sum(axis=-1)


@right("dot_product_std")
def right_std(d_k: int, n_samples: int, rng: Any) -> float:
    """Drawn in rows."""
    return float(dots(*rows(rng, n_samples, d_k)).std())


def measuring(*measures: Measure, orders: Iterable[Draw] = ORDERS) -> Iterator[Form]:
    """Functions that give `measure(queries, keys)`, for each order of drawing."""
    for measure in measures:
        for draw in orders:

            def dot_product_std(
                d_k: int, n_samples: int, rng: Any, draw: Draw = draw, measure: Measure = measure
            ) -> Any:
                return measure(*draw(rng, n_samples, d_k))

            yield dot_product_std


def by_sample_or_all(statistic: Callable[[Array, int], Any]) -> Iterator[Measure]:
    """Measures of dot products that divide by n_samples, and by one less."""
    for less in (0, 1):
        yield lambda q, k, less=less: statistic(dots(q, k), less)  # type: ignore[misc]


@misconception(
    "dot_product_std",
    "variance instead of standard deviation",
    about="spread",
    told="Your code returns the variance, the mean square of the deviations. The standard "
    "deviation has the unit of the scores themselves.",
    question="How do you get from squares back to ordinary numbers?",
    source="hadley/r4ds#650",
)
def variance() -> Iterator[Form]:
    yield from measuring(*by_sample_or_all(lambda scores, less: scores.var(ddof=less)))
    yield from measuring(lambda q, k: (dots(q, k) ** 2).mean())


@misconception(
    "dot_product_std",
    "already scaled",
    about="spread",
    told="Your code makes the dot products smaller: it divides by √d_k or by d_k, or takes a mean "
    "for a sum. Asked is the spread of the plain ones, which is the reason for a division.",
    question="What is q·k, and what does your code measure?",
)
def already_scaled() -> Iterator[Form]:
    def scaled(power: float) -> Iterator[Form]:
        yield from measuring(
            lambda q, k: dots(q, k).std() / q.shape[-1] ** power,
            lambda q, k: dots(q, k).std(ddof=1) / q.shape[-1] ** power,
        )

    yield from scaled(0.5)
    yield from scaled(1.0)


@misconception(
    "dot_product_std",
    "products not added",
    about="spread",
    told="Your code measures the products of single components. A dot product adds up all d_k of "
    "them first.",
    question="How many numbers should be left of one query and one key before you measure?",
)
def not_added() -> Iterator[Form]:
    yield from measuring(
        lambda q, k: (q * k).std(),
        lambda q, k: (q * k).std(axis=0),
        lambda q, k: (q * k).std(axis=-1),
        lambda q, k: (q * k).std(axis=-1).mean(),
        lambda q, k: np.sqrt(((q * k) ** 2).mean()),
    )
    yield from measuring(lambda q, k: (q * k).std(ddof=1))


@misconception(
    "dot_product_std",
    "added over the samples",
    about="spread",
    told="Your code adds up over the samples and not over the components, so what it measures "
    "grows with n_samples.",
    question="Which axis of your arrays counts the samples, and which one the components?",
)
def added_over_samples() -> Iterator[Form]:
    yield from measuring(
        lambda q, k: (q * k).sum(axis=0).std(),
        lambda q, k: (q * k).sum(axis=0).std(ddof=1),
        lambda q, k: (q.reshape(k.shape[::-1]) * k.reshape(k.shape[::-1])).sum(axis=-1).std(),
    )


@misconception(
    "dot_product_std",
    "query used as its own key",
    about="spread",
    told="Your code multiplies each query with itself. Query and key are two vectors, drawn "
    "independently of each other.",
    question="How often does your code draw, and how many vectors does one sample need?",
)
def own_key() -> Iterator[Form]:
    orders = (rows, columns, in_turn)
    yield from measuring(
        lambda q, k: dots(q, q).std(), lambda q, k: dots(q, q).std(ddof=1), orders=orders
    )


@misconception(
    "dot_product_std",
    "one query for all keys",
    about="spread",
    told="Your code draws one vector and uses it in every sample. The result then depends on how "
    "long that one vector happens to be.",
    question="What is drawn anew for each sample in your code?",
)
def one_query() -> Iterator[Form]:
    def query_first(rng: Any, n_samples: int, d_k: int) -> tuple[Array, Array]:
        return rng.standard_normal(d_k), rng.standard_normal((n_samples, d_k))

    def keys_first(rng: Any, n_samples: int, d_k: int) -> tuple[Array, Array]:
        keys = rng.standard_normal((n_samples, d_k))
        return rng.standard_normal(d_k), keys

    def as_columns(rng: Any, n_samples: int, d_k: int) -> tuple[Array, Array]:
        return rng.standard_normal(d_k), rng.standard_normal((d_k, n_samples)).T

    yield from measuring(
        lambda q, k: (k @ q).std(),
        lambda q, k: (k @ q).std(ddof=1),
        orders=(query_first, keys_first, as_columns),
    )


@misconception(
    "dot_product_std",
    "every query with every key",
    about="memory",
    told="While the call ran, more than 16 MiB were in use at once. That is half of a table of "
    "2000 × 2000 float64: your code multiplies every query with every key. With 40,000 samples "
    "such a table takes 12 GB, and the computer may end the kernel.",
    question="How many dot products have 2000 queries if each meets its own key only, and which "
    "operation makes just those?",
)
def every_pair() -> Iterator[Form]:
    def of_table(measure: Callable[[Array], Any]) -> Measure:
        def measured(q: Array, k: Array) -> Any:
            if len(q) > 5000:  # too large a table to simulate
                return dots(q, k).std()
            return measure(q @ k.T)

        return measured

    yield from measuring(of_table(np.std), of_table(lambda table: np.diag(table).std()))


@misconception(
    "dot_product_std",
    "other distribution",
    about="spread",
    told="Your components are not from N(0, 1): they have another mean or another variance, and "
    "that goes into every product.",
    question="Which mean and which variance have the numbers that you draw?",
)
def other_distribution() -> Iterator[Form]:
    def drawn(draw: Callable[[Any, tuple[int, int], int], Array]) -> Iterator[Form]:
        def by_rows(rng: Any, n_samples: int, d_k: int) -> tuple[Array, Array]:
            shape = (n_samples, d_k)
            return draw(rng, shape, d_k), draw(rng, shape, d_k)

        def by_turns(rng: Any, n_samples: int, d_k: int) -> tuple[Array, Array]:
            both = draw(rng, (n_samples * 2, d_k), d_k).reshape(n_samples, 2, d_k)
            return both[:, 0], both[:, 1]

        yield from measuring(
            lambda q, k: dots(q, k).std(),
            lambda q, k: dots(q, k).std(ddof=1),
            orders=(by_rows, by_turns),
        )

    yield from drawn(lambda rng, shape, d_k: rng.random(shape))
    yield from drawn(lambda rng, shape, d_k: rng.uniform(-1, 1, shape))
    yield from drawn(lambda rng, shape, d_k: rng.normal(0, math.sqrt(d_k), shape))
    yield from drawn(lambda rng, shape, d_k: rng.normal(0, d_k, shape))
    yield from drawn(lambda rng, shape, d_k: rng.normal(1, 1, shape))


@misconception(
    "dot_product_std",
    "another statistic",
    about="spread",
    told="Your code returns another number about the dot products than their standard deviation: "
    "their mean, or the mean of their magnitudes.",
    question="How far do the dot products typically lie from their mean, and what measures that?",
)
def another_statistic() -> Iterator[Form]:
    yield from measuring(
        lambda q, k: dots(q, k).mean(),
        lambda q, k: np.abs(dots(q, k)).mean(),
        lambda q, k: np.abs(dots(q, k) - dots(q, k).mean()).mean(),
        lambda q, k: np.median(np.abs(dots(q, k))),
        lambda q, k: dots(q, k).max(),
        lambda q, k: dots(q, k).std() / math.sqrt(len(q)),
    )


@misconception(
    "dot_product_std",
    "one pair only",
    about="spread",
    told="Your code draws one query and one key. A single number has no spread: it takes many "
    "pairs to see how far apart dot products lie.",
    question="How many dot products does your code have when it measures?",
)
def one_pair() -> Iterator[Form]:
    def pair(rng: Any, n_samples: int, d_k: int) -> tuple[Array, Array]:
        return rng.standard_normal(d_k), rng.standard_normal(d_k)

    yield from measuring(
        lambda q, k: abs(q @ k), lambda q, k: q @ k, lambda q, k: np.std(q * k), orders=(pair,)
    )

    def repeated(d_k: int, n_samples: int, rng: Any) -> Any:
        q, k = pair(rng, n_samples, d_k)
        return np.std([q @ k for _ in range(n_samples)])

    yield from (repeated, lambda d_k, n_samples, rng: 0.0)


@misconception(
    "dot_product_std",
    "dot products returned",
    about="spread measured",
    told="Your code returns the dot products themselves, or an array around the one number.",
    question="How many numbers does the docstring promise?",
)
def dots_returned() -> Iterator[Form]:
    yield from measuring(
        dots,
        lambda q, k: dots(q, k).tolist(),
        lambda q, k: dots(q, k).std(keepdims=True),
        lambda q, k: dots(q, k) / math.sqrt(q.shape[-1]),
    )


@misconception(
    "dot_product_std",
    "theory returned",
    about="measured",
    told="Your code returns a formula. It measures nothing: whatever is drawn, the same number "
    "comes out.",
    question="Which of your lines uses what rng gave you?",
)
def theory() -> Iterator[Form]:
    yield lambda d_k, n_samples, rng: math.sqrt(d_k)
    yield lambda d_k, n_samples, rng: float(d_k)
    yield lambda d_k, n_samples, rng: 1.0


@misconception(
    "dot_product_std",
    "generator of its own",
    about="measured",
    told="Your code makes a generator of its own with a fixed seed. Every call draws the same "
    "numbers, whichever generator it is handed.",
    question="What happens to the rng that your function was given?",
    source="CAREamics/careamics#67",
)
def own_generator() -> Iterator[Form]:
    makers: list[Callable[[], Any]] = [lambda: np.random.default_rng(0)]
    makers += [lambda seed=seed: np.random.default_rng(seed) for seed in (1, 42, 1234)]  # type: ignore[misc]
    makers += [lambda seed=seed: np.random.RandomState(seed) for seed in (0, 1, 42)]  # type: ignore[misc]
    for make in makers:

        def drawn_by(draw: Draw, make: Callable[[], Any] = make) -> Draw:
            return lambda rng, n_samples, d_k: draw(make(), n_samples, d_k)

        yield from measuring(
            lambda q, k: dots(q, k).std(),
            lambda q, k: dots(q, k).std(ddof=1),
            orders=tuple(map(drawn_by, (rows, in_turn))),
        )


@misconception(
    "dot_product_std",
    "n_samples ignored",
    about="measured",
    told="Your code always draws the same number of samples, whatever n_samples says.",
    question="Which shape do your arrays have when n_samples is 20?",
)
def samples_ignored() -> Iterator[Form]:
    for count in (1000, 2000, 10_000, 20_000, 100_000):

        def draw_always(draw: Draw, count: int = count) -> Draw:
            return lambda rng, n_samples, d_k: draw(rng, count, d_k)

        yield from measuring(
            lambda q, k: dots(q, k).std(),
            lambda q, k: dots(q, k).std(ddof=1),
            orders=tuple(map(draw_always, (rows, in_turn))),
        )


# --- peakedness -------------------------------------------------------------------------------

Terms = Callable[[Array], Any]


def safe_log(weights: Array) -> Array:
    """The logarithm, and 0 for a weight of 0."""
    return np.log(np.where(weights > 0, weights, 1.0))


def entropy(weights: Array, axis: int | None = -1) -> Any:
    """The right entropy along the last axis."""
    return -(weights * safe_log(weights)).sum(axis=axis)


@right("peakedness")
def right_peakedness(weights: Any) -> tuple[Any, Any]:
    """Numbers for a row, as NumPy makes them, and arrays for more."""
    weights = np.asarray(weights)
    return weights.max(axis=-1), entropy(weights)


def with_entropy(of: Terms) -> Form:
    """A peakedness whose second result is `of(weights)`."""

    def peakedness(weights: Any) -> Any:
        weights = np.asarray(weights)
        with np.errstate(all="ignore"):
            return weights.max(axis=-1), of(weights)

    return peakedness


def with_both(of: Callable[[Array], Any]) -> Form:
    """A peakedness that returns `of(weights)`."""

    def peakedness(weights: Any) -> Any:
        with np.errstate(all="ignore"):
            return of(np.asarray(weights))

    return peakedness


def logged(weights: Array, epsilon: float, everywhere: bool) -> Any:
    """−Σ w ln(w + ε), or with ε in both places."""
    shifted = weights + epsilon
    return -((shifted if everywhere else weights) * np.log(shifted)).sum(axis=-1)


SAFE: tuple[Terms, ...] = (
    safe_log,
    lambda weights: np.log(weights),
    lambda weights: np.log(weights + 1e-12),
)


@misconception(
    "peakedness",
    "bits instead of nats",
    about="entropy",
    told="Your entropy uses another logarithm than the natural one: it is in bits (base 2) or in "
    "bans (base 10).",
    question="Which logarithm counts in nats?",
    source="rrtucci/Entanglish#6; shakedzy/dython#35",
)
def bits() -> Iterator[Form]:
    for base in (2.0, 10.0):
        for log in SAFE:
            yield with_entropy(
                lambda w, log=log, base=base: -(w * log(w)).sum(axis=-1) / math.log(base)  # type: ignore[misc]
            )


@misconception(
    "peakedness",
    "minus forgotten",
    about="entropy",
    told="Your entropy is negative. The logarithm of a weight below 1 is negative, so the sum of "
    "w · ln w is too.",
    question="Which sign has ln ½?",
)
def minus_forgotten() -> Iterator[Form]:
    for log in SAFE:
        yield with_entropy(lambda w, log=log: (w * log(w)).sum(axis=-1))  # type: ignore[misc]


@misconception(
    "peakedness",
    "results exchanged",
    about="largest entropy",
    told="Your code returns the entropy first and the largest weight second.",
    question="In which order does the docstring name the two results?",
)
def exchanged() -> Iterator[Form]:
    yield with_both(lambda w: (entropy(w), w.max(axis=-1)))
    yield with_both(lambda w: (-(w * np.log(w)).sum(axis=-1), w.max(axis=-1)))


@misconception(
    "peakedness",
    "place of the largest weight",
    about="largest",
    told="Your code returns the index of the largest weight. Asked is how large it is.",
    question="What does argmax give, and what does max give?",
)
def place() -> Iterator[Form]:
    yield with_both(lambda w: (w.argmax(axis=-1), entropy(w)))
    yield with_both(lambda w: (w.argmax(axis=-1).astype(float), entropy(w)))
    yield with_both(lambda w: (w.argmin(axis=-1), entropy(w)))


@misconception(
    "peakedness",
    "another number than the maximum",
    about="largest",
    told="Your first result is another number about the weights: the smallest, the last, the mean, "
    "or how far the largest lies from another one.",
    question="Which single weight says how much of its attention a query gives to one key?",
)
def not_maximum() -> Iterator[Form]:
    yield with_both(lambda w: (w.min(axis=-1), entropy(w)))
    yield with_both(lambda w: (w[..., -1], entropy(w)))
    yield with_both(lambda w: (w[..., 0], entropy(w)))
    yield with_both(lambda w: (w.mean(axis=-1), entropy(w)))
    yield with_both(lambda w: (w.max(axis=-1) - w.min(axis=-1), entropy(w)))
    yield with_both(lambda w: (w.max(axis=-1) / w.sum(axis=-1) ** 2 * w.shape[-1], entropy(w)))
    yield with_both(lambda w: (1 - w.max(axis=-1), entropy(w)))


@misconception(
    "peakedness",
    "logarithms not weighted",
    about="entropy",
    told="Your entropy adds up logarithms that are not weighted, or weights that have no "
    "logarithm. Each ln w counts by its own weight w.",
    question="How often does a key of weight w come up, if keys are drawn by their weights?",
)
def not_weighted() -> Iterator[Form]:
    for log in SAFE:
        yield with_entropy(lambda w, log=log: -log(w).sum(axis=-1))  # type: ignore[misc]
        yield with_entropy(lambda w, log=log: -log(w).mean(axis=-1))  # type: ignore[misc]
        yield with_entropy(lambda w, log=log: -log(w.max(axis=-1)))  # type: ignore[misc]
    yield with_entropy(lambda w: 1 - (w * w).sum(axis=-1))
    yield with_entropy(lambda w: (w * w).sum(axis=-1))
    yield with_entropy(lambda w: 1 / (w * w).sum(axis=-1))
    yield with_entropy(lambda w: -np.log((w * w).sum(axis=-1)))


@misconception(
    "peakedness",
    "mean instead of sum",
    about="entropy",
    told="Your entropy takes the mean over the keys. The weights sum to 1 by themselves, so a "
    "plain sum is a mean already.",
    question="What do the weights of a row add up to?",
)
def mean_instead() -> Iterator[Form]:
    for log in SAFE:
        yield with_entropy(lambda w, log=log: -(w * log(w)).mean(axis=-1))  # type: ignore[misc]


@misconception(
    "peakedness",
    "entropy divided or raised",
    about="entropy",
    told="Your second result is made from the entropy, but is not the entropy: it is divided by "
    "its largest possible value, subtracted from it, or put through an exponential.",
    question="What should four equal weights give, and what do yours give?",
)
def normalised() -> Iterator[Form]:
    yield with_entropy(lambda w: entropy(w) / np.log(w.shape[-1]))
    yield with_entropy(lambda w: entropy(w) / math.log2(max(w.shape[-1], 2)))
    yield with_entropy(lambda w: np.exp(entropy(w)))
    yield with_entropy(lambda w: 2 ** entropy(w))
    yield with_entropy(lambda w: np.log(w.shape[-1]) - entropy(w))
    yield with_entropy(lambda w: 1 - entropy(w) / np.log(w.shape[-1]))
    yield with_entropy(lambda w: entropy(w) / np.log(2) / np.log2(w.shape[-1]))


@misconception(
    "peakedness",
    "weights taken for scores",
    about="largest entropy",
    told="Your code puts the weights through a softmax once more, or divides them anew. They are "
    "weights already.",
    question="What does a row of weights sum to before your first line?",
)
def once_more() -> Iterator[Form]:
    yield with_both(lambda w: (softmax(w).max(axis=-1), entropy(softmax(w))))
    yield with_both(lambda w: (w.max(axis=-1), entropy(softmax(w))))
    yield with_both(lambda w: (softmax(w).max(axis=-1), entropy(w)))


@misconception(
    "peakedness",
    "not added up",
    about="form entropy",
    told="Your second result holds a number for every key. The entropy is their sum.",
    question="How many entropies does one row of weights have?",
)
def terms_kept() -> Iterator[Form]:
    for log in SAFE:
        yield with_entropy(lambda w, log=log: -w * log(w))  # type: ignore[misc]


@misconception(
    "peakedness",
    "axis kept",
    about="form",
    told="Your results keep the last axis with length 1. There is one number for each row, so that "
    "axis goes.",
    question="What does keepdims=True do to the shape?",
    source="xjdr-alt/entropix#17",
)
def axis_kept() -> Iterator[Form]:
    def both(w: Array) -> Any:
        return w.max(axis=-1, keepdims=True), -(w * safe_log(w)).sum(axis=-1, keepdims=True)

    yield with_both(both)
    yield with_both(lambda w: (both(w)[0], entropy(w)))
    yield with_both(lambda w: (w.max(axis=-1), both(w)[1]))


@misconception(
    "peakedness",
    "one result only",
    about="form",
    told="Your code returns one of the two numbers. Both are asked for.",
    question="How does a Python function hand back two things?",
)
def one_result() -> Iterator[Form]:
    yield with_both(entropy)
    yield with_both(lambda w: w.max(axis=-1))


@misconception(
    "peakedness",
    "NaN for a weight of 0",
    about="zeros",
    told="Your code computes 0 · ln 0. NumPy makes ln 0 minus infinity, and 0 times that is NaN; "
    "one such key spoils the whole row.",
    question="What may the logarithm get where the weight is 0, if the product is 0 anyway?",
    source="tensorflow/probability#241; huggingface/trl#7221",
)
def zero_nan() -> Iterator[Form]:
    yield with_entropy(lambda w: -(w * np.log(w)).sum(axis=-1))
    yield with_entropy(lambda w: np.where(w.sum(-1) > 0, -(w * np.log(w)).sum(axis=-1), 0.0))

    def in_loop(weights: Any) -> Any:
        rows = np.reshape(weights, (-1, np.shape(weights)[-1])).tolist()
        entropies = [-sum(weight * math.log(weight) for weight in row) for row in rows]
        return np.max(weights, axis=-1), np.reshape(entropies, np.shape(weights)[:-1])

    yield in_loop


@misconception(
    "peakedness",
    "epsilon too large",
    about="zeros entropy",
    told="Your code adds a number to the weights before the logarithm, and it is large enough to "
    "show: a row with all its weight on one key no longer has the entropy 0.",
    question="How small would that number have to be, and do you need it where a weight is not 0?",
    source="joshyZhou/AST#17",
)
def epsilon() -> Iterator[Form]:
    for size in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
        for everywhere in (False, True):
            yield with_entropy(
                lambda w, size=size, everywhere=everywhere: logged(w, size, everywhere)  # type: ignore[misc]
            )
        yield with_entropy(
            lambda w, size=size: -(w.clip(size, 1) * np.log(w.clip(size, 1))).sum(axis=-1)  # type: ignore[misc]
        )
        yield with_entropy(
            lambda w, size=size: -(np.maximum(w, size) * np.log(np.maximum(w, size))).sum(axis=-1)  # type: ignore[misc]
        )
        yield with_entropy(
            lambda w, size=size: entropy((w + size) / (w + size).sum(axis=-1, keepdims=True))  # type: ignore[misc]
        )
    yield with_entropy(lambda w: -(w * np.log(w + 1)).sum(axis=-1))


@misconception(
    "peakedness",
    "row of zeros",
    about="zeros",
    told="Weights of 0 beside others are right in your code, but not a row that is 0 throughout.",
    question="What does your code do to a row that sums to 0?",
)
def row_of_zeros() -> Iterator[Form]:
    def renewed(w: Array) -> Any:
        return w / w.sum(axis=-1, keepdims=True)

    yield with_both(lambda w: (renewed(w).max(axis=-1), entropy(renewed(w))))
    yield with_entropy(lambda w: entropy(renewed(w)) * renewed(w).sum(axis=-1))
    yield with_entropy(lambda w: np.where(w.sum(axis=-1) == 0, math.log(w.shape[-1]), entropy(w)))
    yield with_entropy(lambda w: np.where(w.sum(axis=-1) == 0, np.nan, entropy(w)))

    def picked(weights: Any) -> Any:
        rows = np.reshape(weights, (-1, np.shape(weights)[-1]))
        pairs = [(row[row > 0].max(), entropy(row[row > 0])) for row in rows]
        return tuple(
            np.reshape(part, np.shape(weights)[:-1])[()] for part in zip(*pairs, strict=True)
        )

    yield picked


@misconception(
    "peakedness",
    "one number for all rows",
    about="leading",
    told="Your code takes all rows together. Each query has a row of its own, and so an entropy of "
    "its own.",
    question="Along which axis does a row of weights run?",
    source="joshyZhou/AST#17",
)
def all_together() -> Iterator[Form]:
    yield with_both(lambda w: (w.max(), entropy(w, axis=None)))
    yield with_both(lambda w: (w.max(axis=-1), entropy(w, axis=None)))
    yield with_both(lambda w: (w.max(), entropy(w)))
    yield with_both(lambda w: (w.max(axis=-1), entropy(w).mean()))
    yield with_both(lambda w: (w.max(axis=-1).mean(), entropy(w).mean()))
    yield with_both(lambda w: (w.max(axis=-1), -(w[w > 0] * np.log(w[w > 0])).sum()))
    yield with_both(lambda w: (w.max(), -(w[w > 0] * np.log(w[w > 0])).sum()))
    yield with_both(lambda w: (float(w.max()), float(entropy(w, axis=None))))


@misconception(
    "peakedness",
    "along another axis",
    about="leading",
    told="Your code works along another axis than the last: down the queries, or always along axis "
    "0 or 1. The keys of a query lie along the last axis, however many axes there are before it.",
    question="Which number of an axis means: the last one?",
    source="castorini/DeeBERT#18",
)
def another_axis() -> Iterator[Form]:
    def along(axis: int, first: bool = True, second: bool = True) -> Form:
        def of(w: Array) -> Any:
            number = min(axis, w.ndim - 1) if axis >= 0 else max(axis, -w.ndim)
            largest = w.max(axis=number if first else -1)
            return largest, -(w * safe_log(w)).sum(axis=number if second else -1)

        return with_both(of)

    for axis in (0, 1, -2):
        yield from (along(axis), along(axis, second=False), along(axis, first=False))

    def strictly(axis: int) -> Form:
        return with_both(lambda w: (w.max(axis=axis), -(w * safe_log(w)).sum(axis=axis)))

    yield from (strictly(0), strictly(1))


@misconception(
    "peakedness",
    "one row only",
    about="leading",
    told="Your code can take a single row only. A table of weights has a row for each query, and a "
    "stack has many tables.",
    question="Which NumPy functions work along the last axis, however many there are before it?",
)
def one_row() -> Iterator[Form]:
    def listed(weights: Any) -> Any:
        terms = [-w * math.log(w) for w in weights if w > 0]
        return max(weights), sum(terms)

    def two_axes(weights: Any) -> Any:
        if np.ndim(weights) == 1:
            return right_peakedness(np.asarray(weights))
        pairs = [listed(row) for row in weights]
        return np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])

    yield from (listed, two_axes)


@misconception(
    "peakedness",
    "lists instead of arrays",
    about="leading",
    told="For a table your code returns lists. Whoever calls it computes with whole arrays.",
    question="What makes an array of a list of numbers?",
)
def lists() -> Iterator[Form]:
    yield with_both(lambda w: (w.max(axis=-1).tolist(), entropy(w).tolist()))
    yield with_both(lambda w: (w.max(axis=-1), entropy(w).tolist()))
    yield with_both(lambda w: [list(np.atleast_1d(each)) for each in (w.max(-1), entropy(w))])


@misconception(
    "peakedness",
    "weights changed in place",
    about="changes",
    told="Your code writes into the caller's own weights, to keep the logarithm away from 0. "
    "Whatever is computed from them afterwards is wrong.",
    question="Which of your lines changes an array that you were given, and what makes a new one?",
)
def changed() -> Iterator[Form]:
    def by(change: Callable[[Array], None]) -> Form:
        def peakedness(weights: Any) -> Any:
            answer = right_peakedness(weights)
            change(weights)
            return answer

        return peakedness

    def ones(w: Array) -> None:
        w[w == 0] = 1

    def added(w: Array) -> None:
        w += 1e-12

    def clipped(w: Array) -> None:
        np.clip(w, 1e-12, 1, out=w)

    def floored(w: Array) -> None:
        w[w == 0] = 1e-12

    def ordered(w: Array) -> None:
        w.sort(axis=-1)

    def raised(w: Array) -> None:
        np.maximum(w, 1e-300, out=w)

    yield from map(by, (ones, added, clipped, floored, ordered, raised))


@misconception(
    "peakedness",
    "16 bits inside",
    about="kinds largest entropy",
    told="Your code computes in float16, which keeps about three digits.",
    question="Which type do your weights have when the logarithm is taken?",
)
def half() -> Iterator[Form]:
    yield with_both(lambda w: tuple(map(np.float16, right_peakedness(w.astype(np.float16)))))


# --- softmax_backward -------------------------------------------------------------------------


def softmax(scores: Array) -> Array:
    """A softmax of ordinary finite scores."""
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))


def total(values: Array) -> Array:
    """The sum of each row, with its axis kept."""
    return values.sum(axis=-1, keepdims=True)


def backward(of: Callable[[Array, Array], Any]) -> Form:
    """A softmax_backward that returns `of(weights, grad)`."""

    def softmax_backward(weights: Any, grad: Any) -> Any:
        with np.errstate(all="ignore"):
            return of(np.asarray(weights), np.asarray(grad))

    return softmax_backward


@misconception(
    "softmax_backward",
    "without the others",
    about="formula",
    told="Your code multiplies each gradient with its own weight and stops. Raising one score also "
    "takes weight away from every other key; that part is missing.",
    question="What must the gradients of one row sum to, and what do yours sum to?",
    source="HomericIntelligence/Odyssey#2134",
)
def no_dot() -> Iterator[Form]:
    yield backward(lambda w, g: w * g)


@misconception(
    "softmax_backward",
    "diagonal only",
    about="formula",
    told="Your code treats each weight as if it depended on its own score alone, as a sigmoid "
    "does: w (1 − w). In a softmax every score moves every weight.",
    question="When a score rises, what happens to the weights of the other keys?",
    source="Apiquet/DeepLearningFrameworkFromScratchCpp#1; deeplearning4j/libnd4j#440",
)
def diagonal() -> Iterator[Form]:
    yield backward(lambda w, g: w * (1 - w) * g)
    yield backward(lambda w, g: w * (1 - w))
    yield backward(lambda w, g: (1 - w) * g)


@misconception(
    "softmax_backward",
    "only the others",
    about="formula",
    told="Your code has the part in which a score moves the other weights, −w_i w_j, but not the "
    "part in which it raises its own.",
    question="What is dw_i/ds_i, and where is it in your code?",
)
def off_diagonal() -> Iterator[Form]:
    yield backward(lambda w, g: -w * total(w * g))
    yield backward(lambda w, g: -w * (total(w * g) - w * g))
    yield backward(lambda w, g: w * total(w * g))


@misconception(
    "softmax_backward",
    "subtracted sum not weighted",
    about="formula",
    told="Your code subtracts the same number for every key. A key gains and loses in proportion "
    "to its weight, so the gradient and what is subtracted from it must both carry that weight.",
    question="Write w (g − c) without the brackets: what stands before g, and what before c?",
)
def sum_not_weighted() -> Iterator[Form]:
    yield backward(lambda w, g: w * g - total(w * g))
    yield backward(lambda w, g: w * g - (w * g).mean(axis=-1, keepdims=True))
    yield backward(lambda w, g: g - total(w * g))


@misconception(
    "softmax_backward",
    "gradient's plain sum or mean",
    about="formula",
    told="Your code subtracts the plain sum or mean of the gradient. The keys do not count alike: "
    "each counts by its weight.",
    question="Which mean of the gradients is the one that a query with these weights sees?",
)
def plain_sum() -> Iterator[Form]:
    yield backward(lambda w, g: w * (g - total(g)))
    yield backward(lambda w, g: w * (g - g.mean(axis=-1, keepdims=True)))
    yield backward(lambda w, g: w * g - w * w * total(g))
    yield backward(lambda w, g: w * (g - (w * g).mean(axis=-1, keepdims=True)))
    yield backward(lambda w, g: g - g.mean(axis=-1, keepdims=True))


@misconception(
    "softmax_backward",
    "gradient of the log-softmax",
    about="formula",
    told="Your code is the gradient of the logarithm of a softmax: g − w · Σg. Here the weights "
    "themselves go on, not their logarithms.",
    question="What does a key of weight 0 get from your formula, and what should it get?",
    source="mlpack/mlpack#2360",
)
def log_softmax() -> Iterator[Form]:
    yield backward(lambda w, g: g - w * total(g))
    yield backward(lambda w, g: w * total(g) - g)


@misconception(
    "softmax_backward",
    "cross-entropy's gradient",
    about="formula",
    told="Your code subtracts the gradient from the weights, or the weights from it. That is the "
    "well-known gradient of softmax and cross-entropy together, where the second is a target; here "
    "any gradient may come in.",
    question="What are the two arguments of your function, and is one of them a target?",
)
def cross_entropy() -> Iterator[Form]:
    yield backward(lambda w, g: w - g)
    yield backward(lambda w, g: g - w)


@misconception(
    "softmax_backward",
    "sign turned round",
    about="formula",
    told="Your gradient has the wrong sign, as a whole or in one of its two parts.",
    question="If only the first weight has a gradient, and a positive one: should its score rise?",
)
def turned() -> Iterator[Form]:
    yield backward(lambda w, g: w * (total(w * g) - g))
    yield backward(lambda w, g: w * (g + total(w * g)))
    yield backward(lambda w, g: w * (g + total(w * g) - 2 * w * g))


@misconception(
    "softmax_backward",
    "weights counted twice",
    about="formula",
    told="A weight is multiplied in once too often, or the gradient is missing from the sum.",
    question="In Σ_j grad_j · dw_j/ds_i, how often does each w stand in a term?",
    source="pocketpy/cTensor#31",
)
def twice() -> Iterator[Form]:
    yield backward(lambda w, g: w * (g - total(w * w * g)))
    yield backward(lambda w, g: w * w * (g - total(w * g)))
    yield backward(lambda w, g: w * (1 - w) * g - w * total(w * g))
    yield backward(lambda w, g: w * (g - w * total(w * g)))
    yield backward(lambda w, g: w * (g - total(w * w)))
    yield backward(lambda w, g: w * (1 - w) * (g - total(w * g)))
    yield backward(lambda w, g: w * g * (g - total(w * g)))
    yield backward(lambda w, g: w * g * (1 - total(w * g)))


@misconception(
    "softmax_backward",
    "weights taken for scores",
    about="formula",
    told="Your code applies a softmax to the weights first. They are weights already: the backward "
    "step is given what the forward step returned.",
    question="What does a row of weights sum to before your first line?",
)
def once_again() -> Iterator[Form]:
    yield backward(lambda w, g: oracle.softmax_backward(softmax(w), g))
    yield backward(lambda w, g: softmax(w) * (g - total(w * g)))


@misconception(
    "softmax_backward",
    "factor too many",
    about="formula",
    told="Your gradient has the right proportions and a factor too many: it is divided by √d_k, by "
    "the number of keys, or multiplied by 2.",
    question="Which factor stands between your result and the one by hand, and where is it from?",
    source="markroxor/fromscratchtoml#65",
)
def factor() -> Iterator[Form]:
    yield backward(lambda w, g: oracle.softmax_backward(w, g) / w.shape[-1])
    yield backward(lambda w, g: oracle.softmax_backward(w, g) / math.sqrt(w.shape[-1]))
    yield backward(lambda w, g: oracle.softmax_backward(w, g) * 2)


@misconception(
    "softmax_backward",
    "Jacobian not contracted",
    about="formula",
    told="Your code returns the table of slopes, one for each pair of keys. The gradient of a "
    "score adds up what it does to all weights, each times its gradient.",
    question="How many gradients does a row of scores have?",
    source="PrincetonUniversity/PsyNeuLink#2539",
)
def jacobian() -> Iterator[Form]:
    def table(w: Array) -> Array:
        return np.asarray(w[..., :, None] * np.eye(w.shape[-1]) - w[..., :, None] * w[..., None, :])

    yield backward(lambda w, g: table(w))
    yield backward(lambda w, g: table(w) * g[..., None, :])
    yield backward(lambda w, g: table(w) * g[..., :, None])
    yield backward(lambda w, g: table(w).sum(axis=-1))


@misconception(
    "softmax_backward",
    "list instead of array",
    about="formula",
    told="Your code returns a list. Whoever calls it wants to compute with a whole array.",
    question="What makes an array of a list of numbers?",
)
def listed() -> Iterator[Form]:
    yield backward(lambda w, g: oracle.softmax_backward(w, g).tolist())
    yield backward(lambda w, g: list(oracle.softmax_backward(w, g)))


@misconception(
    "softmax_backward",
    "axis lost in the sum",
    about="leading",
    told="Your sum has lost the last axis. NumPy then lines it up with the keys instead of the "
    "queries: an error where the shapes differ, and silently wrong where they do not.",
    question="Which shape has your sum for a table (2, 3), and which would it need?",
    source="Dao-AILab/flash-attention#2555",
)
def axis_lost() -> Iterator[Form]:
    yield backward(lambda w, g: w * (g - (w * g).sum(axis=-1)))
    yield backward(lambda w, g: w * g - w * (w * g).sum(axis=-1))


@misconception(
    "softmax_backward",
    "one sum for all rows",
    about="leading",
    told="Your code adds up over the whole array. Each row has a sum of its own: what one query "
    "gains or loses is no other query's business.",
    question="How many sums are there for a table of two rows?",
    source="PrincetonUniversity/PsyNeuLink#2539",
)
def one_sum() -> Iterator[Form]:
    yield backward(lambda w, g: w * (g - (w * g).sum()))
    yield backward(lambda w, g: w * (g - np.vdot(w, g)))
    yield backward(lambda w, g: ((np.diagflat(w) - np.outer(w, w)) @ g.ravel()).reshape(w.shape))


@misconception(
    "softmax_backward",
    "sum along another axis",
    about="leading",
    told="Your code adds up along another axis than the last: down the queries, or always along "
    "axis 0 or 1. The keys of a query lie along the last axis.",
    question="Which number of an axis means: the last one?",
    source="Dao-AILab/flash-attention#2555",
)
def other_axis() -> Iterator[Form]:
    def along(axis: int, clamped: bool = True, kept: bool = True) -> Form:
        def of(w: Array, g: Array) -> Any:
            number = (
                (min(axis, w.ndim - 1) if axis >= 0 else max(axis, -w.ndim)) if clamped else axis
            )
            return w * (g - (w * g).sum(axis=number, keepdims=kept))

        return backward(of)

    for axis in (0, 1, -2):
        yield from (along(axis), along(axis, kept=False))
    yield along(0, clamped=False)

    def loop(weights: Any, grad: Any) -> Any:
        inner = sum(w * g for w, g in zip(weights, grad, strict=True))
        return np.array([w * (g - inner) for w, g in zip(weights, grad, strict=True)])

    def pairs(weights: Any, grad: Any) -> Any:
        size = len(weights)
        slope = [[weights[j] * ((i == j) - weights[i]) for j in range(size)] for i in range(size)]
        return np.array([sum(slope[i][j] * grad[j] for j in range(size)) for i in range(size)])

    yield from (loop, pairs)


@misconception(
    "softmax_backward",
    "matrix product for a sum of products",
    about="leading",
    told="Your code uses a product of matrices, an outer product or a diagonal that means "
    "something else for a table than for a row. With a row it happens to be right.",
    question="What does your product give for two rows, and what should each row get?",
    source="PrincetonUniversity/PsyNeuLink#2539",
)
def matrix_product() -> Iterator[Form]:
    yield backward(lambda w, g: w * (g - np.dot(w, g)))
    yield backward(lambda w, g: w * (g - w @ g))
    yield backward(lambda w, g: w * (g - np.dot(w, g.T)))
    yield backward(
        lambda w, g: w * (g - w @ np.swapaxes(np.atleast_2d(g), -1, -2)).reshape(w.shape)
    )
    yield backward(lambda w, g: w * (g - np.inner(w, g)))
    yield backward(lambda w, g: (np.diag(w) - np.outer(w, w)) @ g)
    yield backward(lambda w, g: g @ (np.diag(w) - np.outer(w, w)))
    yield backward(lambda w, g: (np.diagflat(w) - np.outer(w, w)) @ g)
    yield backward(lambda w, g: np.einsum("i,i->i", w, g - np.einsum("i,i->", w, g)))


@misconception(
    "softmax_backward",
    "table taken for granted",
    about="formula leading kinds changes",
    told="Your code needs a table with two axes: a loop over its rows, or axis 1. A single row has "
    "no axis 1, and a stack has more than two.",
    question="What is weights[0] if weights is one row?",
)
def two_axes() -> Iterator[Form]:
    def over_rows(weights: Any, grad: Any) -> Any:
        result = np.zeros_like(weights)
        for index in range(weights.shape[0]):
            result[index] = weights[index] * (grad[index] - weights[index] @ grad[index])
        return result

    def over_tables(weights: Any, grad: Any) -> Any:
        result = np.zeros_like(weights)
        for index in range(weights.shape[0]):
            slopes = np.diag(weights[index]) - np.outer(weights[index], weights[index])
            result[index] = slopes @ grad[index]
        return result

    def unpacked(weights: Any, grad: Any) -> Any:
        _, _ = weights.shape
        return weights * (grad - total(weights * grad))

    yield from (over_rows, over_tables, unpacked)
    yield backward(lambda w, g: w * (g - (w * g).sum(axis=1, keepdims=True)))
    yield backward(lambda w, g: w * (g - (w * g).sum(axis=1)[:, None]))


@misconception(
    "softmax_backward",
    "divides by the weights",
    about="formula",
    told="Your code divides by a weight, or takes its logarithm. A hidden key has weight 0.",
    question="Where can a weight of 0 get below a fraction stroke in your code?",
)
def divides() -> Iterator[Form]:
    yield backward(lambda w, g: (w * g - w * total(w * g)) / w * w)
    yield backward(lambda w, g: w * (g - total(w * g)) / total(w))
    yield backward(lambda w, g: np.exp(np.log(w)) * (g - total(w * g)) + 0 * np.log(w))


@misconception(
    "softmax_backward",
    "gradient or weights changed in place",
    about="changes kinds",
    told="Your code writes into an array of the caller's. Backward steps come one after the other, "
    "and the next one reads what you have overwritten.",
    question="Which of your lines changes an array that you were given, and what makes a new one?",
)
def in_place() -> Iterator[Form]:
    def subtracts(weights: Any, grad: Any) -> Any:
        grad -= total(weights * grad)
        return weights * grad

    def multiplies(weights: Any, grad: Any) -> Any:
        grad -= total(weights * grad)
        grad *= weights
        return grad

    def products(weights: Any, grad: Any) -> Any:
        grad *= weights
        return grad - weights * total(grad)

    def weights_too(weights: Any, grad: Any) -> Any:
        inner = total(weights * grad)
        weights *= grad - inner
        return weights

    def by_rows(weights: Any, grad: Any) -> Any:
        flat, slopes = np.atleast_2d(weights), np.atleast_2d(grad)
        for row, slope in zip(
            flat.reshape(-1, flat.shape[-1]), slopes.reshape(-1, flat.shape[-1]), strict=True
        ):
            slope[:] = row * (slope - row @ slope)
        return grad

    yield from (subtracts, multiplies, products, weights_too, by_rows)


@misconception(
    "softmax_backward",
    "result in the gradient's type",
    about="kinds",
    told="Your result is stored in an array of the gradient's type. An integer array cuts off "
    "everything behind the point.",
    question="Which type has the array that you fill, and where does it get it from?",
)
def gradients_type() -> Iterator[Form]:
    yield backward(lambda w, g: oracle.softmax_backward(w, g).astype(g.dtype))
    yield backward(lambda w, g: w * (g - total(w * g).astype(g.dtype)))
