"""Lesson 06: how people miscount attention and miss a sliding window, and what they are told.

Forms are a right count or mask with one piece exchanged; sources are public issues."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from grader import oracle
from grader.misconceptions.family import Form, misconception, right
from grader.misconceptions.mask_form import Finish, as_type, mistakes_of_form

Array = np.ndarray
Counts = dict[str, Any]

right("attention_counts")(oracle.attention_counts)
right("crossover_length")(oracle.crossover_length)
right("kv_cache_bytes")(oracle.kv_cache_bytes)
right("sliding_window_mask")(oracle.sliding_window_mask)


def wrapped(number: int) -> int:
    """What is left of a whole number in 32 bits."""
    return (number + 2**31) % 2**32 - 2**31


def in_units(rule: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """The same number in KiB, MiB, GiB, kB, MB, GB and in eighths, as fractions and cut."""
    for unit in (2**10, 2**20, 2**30, 10**3, 10**6, 10**9, 8):
        yield lambda *sizes, n=unit: rule(*sizes) / n
        yield lambda *sizes, n=unit: rule(*sizes) // n


def returns_nothing(*args: Any, **kwargs: Any) -> None:
    """A function without `return`."""


# --- attention_counts -------------------------------------------------------------------------

# (S, d_model, heads, bytes) → what the entry holds; for the total also the parts before it
Rule = Callable[[int, int, int, int], Any]
Total = Callable[[Any, Any, Any, int, int, int], Any]
RIGHT: dict[str, Rule] = {
    "qk_flops": lambda s, d, h, b: 2 * s * s * d,
    "pv_flops": lambda s, d, h, b: 2 * s * s * d,
    "projection_flops": lambda s, d, h, b: 8 * s * d * d,
    "scores_bytes": lambda s, d, h, b: h * s * s * b,
}


def all_parts(qk: Any, pv: Any, projections: Any, s: int, d: int, h: int) -> Any:
    """The right total."""
    return qk + pv + projections


def counted(
    rules: dict[str, Rule],
    total: Total = all_parts,
    finish: Callable[[Counts], Any] = lambda counts: counts,
    usual: int = 4,
) -> Form:
    """A count with other rules for some entries, or another number of bytes unless told."""

    def attention_counts(
        seq_len: int, d_model: int, n_heads: int, bytes_per_element: int = usual
    ) -> Any:
        sizes = (seq_len, d_model, n_heads)
        counts = {key: rule(*sizes, bytes_per_element) for key, rule in (RIGHT | rules).items()}
        parts = (counts["qk_flops"], counts["pv_flops"], counts["projection_flops"])
        return finish(counts | {"total_flops": total(*parts, *sizes)})

    return attention_counts


def spelled(total: Total = all_parts, **rules: Rule) -> Iterator[Form]:
    """The same mistake in whole numbers, NumPy's too, and in floats for some or all entries."""
    flops = frozenset(("qk_flops", "pv_flops", "projection_flops", "total_flops"))
    changed = frozenset(rules) | ({"total_flops"} if flops.issuperset(rules) else set())
    for floats in dict.fromkeys((frozenset[str](), flops, flops | {"scores_bytes"}, changed)):
        yield counted(rules, total, with_floats(floats))
    yield counted(rules, total, lambda counts: {k: np.int64(v) for k, v in counts.items()})


def with_floats(floats: frozenset[str]) -> Callable[[Counts], Counts]:
    """The same counts, these entries as floats."""
    return lambda counts: {k: float(v) if k in floats else v for k, v in counts.items()}


def of_pairs(*rules: Rule) -> Iterator[Form]:
    """Each rule for Q Kᵀ and P V alike, for Q Kᵀ alone and for P V alone."""
    for rule in rules:
        yield from spelled(qk_flops=rule, pv_flops=rule)
        yield from spelled(qk_flops=rule)
        yield from spelled(pv_flops=rule)


@misconception(
    "attention_counts",
    "half of the work of every pair",
    about="qk pv",
    told=(
        "Your products of pairs cost half of what they take: as if half of the pairs were hidden "
        "and skipped, or as if a multiplication and its addition were one operation. This count "
        "is without a mask, and counts both, as your projections do."
    ),
    question="With 3 positions: how many scores has a head, and what does one score take?",
    source="verl-project/verl#4959; modular/modular#5557; AI-Hypercomputer/maxtext#1972",
)
def half_of_pairs() -> Iterator[Form]:
    yield from of_pairs(lambda s, d, h, b: s * s * d, lambda s, d, h, b: s * (s + 1) * d)
    yield from of_pairs(lambda s, d, h, b: s * (s - 1) * d)


@misconception(
    "attention_counts",
    "multiplications without additions",
    about="qk pv projections",
    told=(
        "Everything that you count is half of what it takes. A sum of products needs an addition "
        "for every multiplication, and both count."
    ),
    question="How many multiplications are in a dot product of two numbers each, and what else?",
    source="facebookresearch/fvcore#69; open-mmlab/mmcv#785",
)
def no_additions() -> Iterator[Form]:
    def once(s: int, d: int, h: int, b: int) -> int:
        return s * s * d

    yield from spelled(
        qk_flops=once, pv_flops=once, projection_flops=lambda s, d, h, b: 4 * s * d * d
    )


@misconception(
    "attention_counts",
    "one addition fewer",
    about="qk pv projections",
    told=(
        "You count one addition fewer than multiplications in each sum. That is how it is done by "
        "hand; the field counts both alike, since a sum in a program starts from 0."
    ),
    question="`total = 0`, then `total += a * b` in a loop: how many additions are made?",
    source="open-mmlab/mmcv#785",
)
def one_addition_fewer() -> Iterator[Form]:
    def qk(s: int, d: int, h: int, b: int) -> int:
        return h * s * s * (2 * (d // h) - 1)

    def qk_wide(s: int, d: int, h: int, b: int) -> int:
        return s * s * (2 * d - 1)

    def pv(s: int, d: int, h: int, b: int) -> int:
        return s * d * (2 * s - 1)

    def projections(s: int, d: int, h: int, b: int) -> int:
        return 4 * s * d * (2 * d - 1)

    for scores in (qk, qk_wide):
        yield from spelled(qk_flops=scores, pv_flops=pv, projection_flops=projections)
        yield from spelled(qk_flops=scores, pv_flops=pv)
        yield from spelled(qk_flops=scores)


@misconception(
    "attention_counts",
    "the width of one head",
    about="qk pv",
    told=(
        "You count the products of one head. The others do the same work with their own part of "
        "the width, so all heads together use all of it."
    ),
    question="By how much does the work change when the same width is split into more heads?",
    source="LMCache/LMCache#688; NVIDIA/Model-Optimizer#2482",
)
def width_of_one_head() -> Iterator[Form]:
    yield from of_pairs(
        lambda s, d, h, b: 2 * s * s * (d // h), lambda s, d, h, b: s * s * (d // h)
    )
    yield from of_pairs(lambda s, d, h, b: 2 * s * s * d / h)


@misconception(
    "attention_counts",
    "the whole width in every head",
    about="qk pv",
    told=(
        "You count the whole width for every head. But the heads share it: each has only its own "
        "part."
    ),
    question="How wide is one head when 4 numbers are split into 2 heads?",
    source="jranaraki/vllm-fit#2",
)
def whole_width_in_every_head() -> Iterator[Form]:
    yield from of_pairs(lambda s, d, h, b: 2 * h * s * s * d, lambda s, d, h, b: h * s * s * d)


@misconception(
    "attention_counts",
    "the width twice",
    about="qk pv",
    told="A width stands in your product twice. The width of a key is gone over once in a score.",
    question="How many multiplications does the dot product of two numbers with two numbers take?",
)
def width_twice() -> Iterator[Form]:
    yield from of_pairs(lambda s, d, h, b: 2 * s * s * d * d, lambda s, d, h, b: s * s * d * d)


@misconception(
    "attention_counts",
    "pairs without their width",
    about="qk pv",
    told=(
        "You count the pairs of positions, but not what one pair takes: it is more than one "
        "operation."
    ),
    question="How many numbers of a query and a key go into one score?",
)
def pairs_without_width() -> Iterator[Form]:
    yield from of_pairs(lambda s, d, h, b: 2 * s * s, lambda s, d, h, b: s * s)
    yield from of_pairs(lambda s, d, h, b: 2 * h * s * s, lambda s, d, h, b: h * s * s)


@misconception(
    "attention_counts",
    "every position once",
    about="qk pv",
    told=(
        "Your products grow in proportion to the number of positions. But every query meets every "
        "key: it is pairs that are counted."
    ),
    question="How many scores are there for 3 positions, and for 6?",
)
def every_position_once() -> Iterator[Form]:
    yield from of_pairs(lambda s, d, h, b: 2 * s * d, lambda s, d, h, b: 2 * s * d * d)
    yield from of_pairs(lambda s, d, h, b: s * d, lambda s, d, h, b: s * d * d)


@misconception(
    "attention_counts",
    "both products in each",
    about="qk pv",
    told="You count twice what one product takes, as if both products stood in this entry.",
    question="Which of the two products does this entry speak of?",
)
def both_products_in_each() -> Iterator[Form]:
    yield from of_pairs(lambda s, d, h, b: 4 * s * s * d)


@misconception(
    "attention_counts",
    "not all of the four projections",
    about="projections",
    told=(
        "Your projections cost less than four products of (S, d_model) and (d_model, d_model): "
        "either a matrix is missing, or a part of the operations."
    ),
    question="Which matrices does a layer multiply with, and what does one number of Q take?",
)
def not_all_projections() -> Iterator[Form]:
    yield from spelled(projection_flops=lambda s, d, h, b: 2 * s * d * d)
    yield from spelled(projection_flops=lambda s, d, h, b: 3 * s * d * d)
    yield from spelled(projection_flops=lambda s, d, h, b: 4 * s * d * d)
    yield from spelled(projection_flops=lambda s, d, h, b: 6 * s * d * d)
    yield from spelled(projection_flops=lambda s, d, h, b: s * d * d)


@misconception(
    "attention_counts",
    "projections of one head",
    about="projections",
    told="You count projections to the width of one head only. All heads need theirs.",
    question="How many columns of the matrix belong to one head, and how many are there?",
)
def projections_of_one_head() -> Iterator[Form]:
    yield from spelled(projection_flops=lambda s, d, h, b: 8 * s * d * (d // h))
    yield from spelled(projection_flops=lambda s, d, h, b: (2 * d + 6 * (d // h)) * s * d)
    yield from spelled(projection_flops=lambda s, d, h, b: 8 * s * (d // h) ** 2)
    yield from spelled(projection_flops=lambda s, d, h, b: 8 * h * s * (d // h) ** 2)


@misconception(
    "attention_counts",
    "a whole projection for every head",
    about="projections",
    told="You count a whole projection for every head. But the heads share one: each has a part.",
    question="How wide is what one head gets when 4 numbers are split into 2 heads?",
)
def projection_for_every_head() -> Iterator[Form]:
    yield from spelled(projection_flops=lambda s, d, h, b: 8 * h * s * d * d)
    yield from spelled(projection_flops=lambda s, d, h, b: (2 + 6 * h) * s * d * d)


@misconception(
    "attention_counts",
    "projections of pairs",
    about="projections",
    told=(
        "Your projections grow with the square of the length. But a position is projected by "
        "itself: it does not meet the others there."
    ),
    question="How many rows does x have, and how many of them go into one row of Q?",
)
def projections_of_pairs() -> Iterator[Form]:
    yield from spelled(projection_flops=lambda s, d, h, b: 8 * s * s * d)
    yield from spelled(projection_flops=lambda s, d, h, b: 8 * s * s * d * d)


@misconception(
    "attention_counts",
    "projections of one token",
    about="projections",
    told="You count the projections of one position. There are S of them.",
    question="How many rows of x are multiplied with the matrix?",
)
def projections_of_one_token() -> Iterator[Form]:
    yield from spelled(projection_flops=lambda s, d, h, b: 8 * d * d)
    yield from spelled(projection_flops=lambda s, d, h, b: 4 * d * d)


@misconception(
    "attention_counts",
    "the MLP as well",
    about="projections total",
    told=(
        "You count the two layers behind attention (the MLP) as well. This count is of attention "
        "alone."
    ),
    question="Which matrices does attention itself multiply with?",
)
def mlp_as_well() -> Iterator[Form]:
    yield from spelled(projection_flops=lambda s, d, h, b: 24 * s * d * d)
    yield from spelled(lambda qk, pv, p, s, d, h: qk + pv + p + 16 * s * d * d)


@misconception(
    "attention_counts",
    "linear layers only",
    about="total",
    told="Your total holds the projections alone. The products of pairs are work like any other.",
    question="Which entries of your dict are parts of the total?",
    source="autoliuweijie/FastBERT#14",
)
def linear_layers_only() -> Iterator[Form]:
    yield from spelled(lambda qk, pv, p, s, d, h: p)


@misconception(
    "attention_counts",
    "one of the two products",
    about="total",
    told="Your total holds one of the two products of pairs, not both.",
    question="What follows the softmax, and what does it cost?",
    source="pytorch/torchtitan#4366",
)
def one_of_two_products() -> Iterator[Form]:
    yield from spelled(lambda qk, pv, p, s, d, h: qk + p)


@misconception(
    "attention_counts",
    "products only",
    about="total",
    told="Your total leaves the projections out.",
    question="Which entries of your dict are parts of the total?",
)
def products_only() -> Iterator[Form]:
    yield from spelled(lambda qk, pv, p, s, d, h: qk + pv)
    yield from spelled(lambda qk, pv, p, s, d, h: qk)


@misconception(
    "attention_counts",
    "more than the matrix products",
    about="total",
    told=(
        "Your total is more than its three parts: something else is in it, such as the softmax, "
        "or a pass backwards."
    ),
    question="What is the sum of the three numbers that stand beside your total?",
    source="Dao-AILab/flash-attention#741",
)
def more_than_products() -> Iterator[Form]:
    def with_softmax(operations: int, every_head: bool) -> Total:
        return lambda qk, pv, p, s, d, h: (
            qk + pv + p + operations * (h if every_head else 1) * s * s
        )

    for operations in (1, 2, 3, 4, 5):
        yield from spelled(with_softmax(operations, every_head=True))
        yield from spelled(with_softmax(operations, every_head=False))
    yield from spelled(lambda qk, pv, p, s, d, h: 3 * (qk + pv + p))
    yield from spelled(lambda qk, pv, p, s, d, h: 2 * (qk + pv + p))
    yield from spelled(lambda qk, pv, p, s, d, h: h * (qk + pv + p))
    yield from spelled(lambda qk, pv, p, s, d, h: h * (qk + pv) + p)


def of_bytes(*rules: Rule) -> Iterator[Form]:
    """Other rules for the bytes, in whole numbers and floats."""
    for rule in rules:
        yield from spelled(scores_bytes=rule)


@misconception(
    "attention_counts",
    "scores of one head",
    about="bytes",
    told="You count the table of one head. Every head has one of its own.",
    question="Which shape do the scores of a layer with 2 heads have?",
    source="rohitg00/ai-engineering-from-scratch#57",
)
def scores_of_one_head() -> Iterator[Form]:
    yield from of_bytes(lambda s, d, h, b: s * s * b, lambda s, d, h, b: 4 * s * s)
    yield from of_bytes(lambda s, d, h, b: s * s)


@misconception(
    "attention_counts",
    "numbers, not bytes",
    about="bytes",
    told="You count how many scores there are, not how many bytes they take.",
    question="How many bytes does one number take, and which argument says so?",
)
def numbers_not_bytes() -> Iterator[Form]:
    yield from of_bytes(lambda s, d, h, b: h * s * s)


@misconception(
    "attention_counts",
    "always the same bytes",
    about="bytes",
    told="Your bytes are the same whatever bytes_per_element is.",
    question="Where does your code read bytes_per_element?",
)
def always_the_same_bytes() -> Iterator[Form]:
    yield from of_bytes(lambda s, d, h, b: 4 * h * s * s, lambda s, d, h, b: 2 * h * s * s)
    yield from of_bytes(lambda s, d, h, b: 8 * h * s * s)


@misconception(
    "attention_counts",
    "another default",
    about="bytes",
    told="Your bytes are right when bytes_per_element is given, and wrong when it is left out.",
    question="Which number of bytes does the signature promise, if none is given?",
)
def another_default() -> Iterator[Form]:
    for usual in (1, 2, 8):
        yield counted({}, usual=usual)
        yield counted(
            {}, finish=lambda counts: {k: float(v) for k, v in counts.items()}, usual=usual
        )


@misconception(
    "attention_counts",
    "another unit",
    about="bytes",
    told="Your number is not in bytes.",
    question="How many bytes are a KiB, and how many bits are a byte?",
)
def another_unit() -> Iterator[Form]:
    yield from of_bytes(lambda s, d, h, b: 8 * h * s * s * b)
    yield from of_bytes(*in_units(RIGHT["scores_bytes"]))


@misconception(
    "attention_counts",
    "a width in the scores",
    about="bytes",
    told=(
        "The width is in your bytes. A score is one number, however wide the query and the key "
        "were that made it."
    ),
    question="Which shape does Q Kᵀ have?",
)
def width_in_scores() -> Iterator[Form]:
    yield from of_bytes(lambda s, d, h, b: s * s * d * b, lambda s, d, h, b: h * s * s * d * b)
    yield from of_bytes(lambda s, d, h, b: s * d * b, lambda s, d, h, b: h * s * d * b)
    yield from of_bytes(lambda s, d, h, b: 2 * s * d * b, lambda s, d, h, b: 3 * s * d * b)


@misconception(
    "attention_counts",
    "each position once in the scores",
    about="bytes",
    told="Your bytes grow in proportion to the length. But there is a score for every pair.",
    question="How many scores has a head for 3 positions, and for 6?",
)
def positions_once_in_scores() -> Iterator[Form]:
    yield from of_bytes(lambda s, d, h, b: h * s * b, lambda s, d, h, b: s * b)


@misconception(
    "attention_counts",
    "half a table or two",
    about="bytes",
    told=(
        "You count half of the table, or more than one. It has a score for every query and key, "
        "hidden or not, and the count asks for one table a head."
    ),
    question="How many rows and columns does the table of one head have?",
)
def half_a_table_or_two() -> Iterator[Form]:
    yield from of_bytes(lambda s, d, h, b: h * s * s * b // 2, lambda s, d, h, b: h * s * s * b / 2)
    yield from of_bytes(lambda s, d, h, b: h * (s * (s + 1) // 2) * b)
    yield from of_bytes(lambda s, d, h, b: 2 * h * s * s * b, lambda s, d, h, b: 3 * h * s * s * b)


@misconception(
    "attention_counts",
    "32 bits",
    about="bytes",
    told=(
        "Your number is right while it is small, and wrong beyond 2³¹: a 32-bit integer ends there."
    ),
    question="Which dtype does your code give to its numbers?",
    source="microsoft/onnxruntime#20921; tile-ai/tilelang#330",
)
def bytes_in_32_bits() -> Iterator[Form]:
    yield from of_bytes(lambda s, d, h, b: wrapped(h * s * s * b))
    yield counted({"scores_bytes": lambda s, d, h, b: np.int32(wrapped(h * s * s * b))})


@misconception(
    "attention_counts",
    "no dict",
    about="qk pv projections total bytes",
    told="Your numbers come without their names. The caller asks for them by name.",
    question="What does `dict(a=1)` make?",
)
def no_dict() -> Iterator[Form]:
    yield counted({}, finish=lambda counts: tuple(counts.values()))
    yield counted({}, finish=lambda counts: list(counts.values()))
    yield counted({}, finish=lambda counts: counts["total_flops"])


@misconception(
    "attention_counts",
    "nothing returned",
    about="qk pv projections total bytes",
    told="Your function returns None: it counts and keeps the numbers to itself.",
    question="How does what a function has made reach the one who called it?",
)
def counts_nothing() -> Iterator[Form]:
    yield returns_nothing


# --- crossover_length -------------------------------------------------------------------------


def in_both(*rules: Callable[[int], float]) -> Iterator[Form]:
    """Rules for a length, in whole numbers and in floats."""
    for rule in rules:
        yield length_by(rule, int)
        yield length_by(rule, float)
        yield length_by(rule, np.int64)


def rounded_up_to(step: int) -> Callable[[int], float]:
    """The next multiple of a step."""
    return lambda d: -(-2 * d // step) * step


def always(length: int) -> Callable[[int], float]:
    """One length."""
    return lambda d: length


def length_by(rule: Callable[[int], float], kind: type) -> Form:
    """A length by this rule, as a number of this kind."""
    return lambda d_model: kind(rule(d_model))


@misconception(
    "crossover_length",
    "as long as wide",
    about="length",
    told=(
        "You return d_model itself. There the pairs take half of what the projections take: a "
        "third of the whole."
    ),
    question="With d_model = 4: what do both cost at S = 4?",
)
def as_long_as_wide() -> Iterator[Form]:
    yield from in_both(lambda d: d)


@misconception(
    "crossover_length",
    "half of the pairs' work",
    about="length",
    told=(
        "At your length the pairs take twice what the projections take. You get there by counting "
        "one of the two products, or half of the pairs."
    ),
    question="How many matrix products does attention make between its projections?",
    source="AI-Hypercomputer/maxtext#2031 (halved for the causal mask)",
)
def half_of_the_work() -> Iterator[Form]:
    yield from in_both(lambda d: 4 * d, lambda d: 4 * d - 1, lambda d: 4 * d + 1)


@misconception(
    "crossover_length",
    "the MLP as well",
    about="length",
    told=(
        "Your length is the one at which the pairs (or half of them) have caught up with the "
        "projections and a 4 × MLP together. Here all are held against the projections alone."
    ),
    question="Which matrices does attention itself multiply with?",
)
def crossover_with_mlp() -> Iterator[Form]:
    yield from in_both(lambda d: 6 * d, lambda d: 12 * d)


@misconception(
    "crossover_length",
    "not all of the four projections",
    about="length",
    told="Your length is the one for three projections, or for one.",
    question="What happens to the output of the heads before it leaves the layer?",
)
def crossover_of_three() -> Iterator[Form]:
    yield from in_both(lambda d: 1.5 * d, lambda d: 0.5 * d)


@misconception(
    "crossover_length",
    "a square",
    about="length",
    told="Your length grows with the square of d_model. One factor d_model too many is left in it.",
    question="Divide both sides of your equation by everything that they share: what is left?",
)
def crossover_square() -> Iterator[Form]:
    yield from in_both(lambda d: d * d, lambda d: 2 * d * d, lambda d: 8 * d * d)
    yield from in_both(lambda d: d**0.5, lambda d: (2 * d) ** 0.5)


@misconception(
    "crossover_length",
    "work, not a length",
    about="length",
    told="You return how much work there is at that length, not the length.",
    question="Which is asked for: S, or what is computed at S?",
)
def work_not_length() -> Iterator[Form]:
    yield from in_both(lambda d: 16 * d**3, lambda d: 32 * d**3)


@misconception(
    "crossover_length",
    "next to it",
    about="length",
    told="You return the neighbour of the length at which both cost the same.",
    question="With d_model = 4: what do both cost at the length that you return?",
)
def next_to_it() -> Iterator[Form]:
    yield from in_both(lambda d: 2 * d + 1, lambda d: 2 * d - 1)


@misconception(
    "crossover_length",
    "on a grid",
    about="length",
    told="Your search jumps over the length: it looks at powers of two, or in steps, only.",
    question="Which lengths does your loop try when d_model is 7?",
)
def on_a_grid() -> Iterator[Form]:
    yield from in_both(lambda d: 1 << (2 * d - 1).bit_length(), lambda d: 1 << (2 * d).bit_length())
    yield from in_both(lambda d: 1 << ((2 * d).bit_length() - 1))
    yield from in_both(*map(rounded_up_to, (4, 8, 10, 16, 32, 64, 100, 128, 256)))


@misconception(
    "crossover_length",
    "one length for all widths",
    about="length",
    told="You return the same length for every d_model.",
    question="Where does your code read d_model?",
)
def one_length_for_all() -> Iterator[Form]:
    yield from in_both(*map(always, (512, 1024, 1536, 2048, 4096, 8192, 16384)))


@misconception(
    "crossover_length",
    "nothing returned",
    about="length",
    told="Your function returns None: it finds a length and keeps it to itself.",
    question="How does what a function has made reach the one who called it?",
)
def crossover_nothing() -> Iterator[Form]:
    yield returns_nothing


# --- kv_cache_bytes ---------------------------------------------------------------------------

# (tokens, layers, heads, width of a head, bytes) → bytes
CacheRule = Callable[[int, int, int, int, int], Any]


def cached(*rules: CacheRule) -> Iterator[Form]:
    """The size of a cache by other rules, in whole numbers and in floats."""
    for rule in rules:
        yield cache_by(rule)
        yield cache_by(rule, float)
        yield cache_by(rule, np.int64)


def cache_by(
    rule: CacheRule, finish: Callable[[Any], Any] = lambda size: size, usual: int = 2
) -> Form:
    """The size of a cache by another rule, in another form, or with other bytes unless told."""

    def kv_cache_bytes(
        seq_len: int, n_layers: int, n_kv_heads: int, d_head: int, bytes_per_element: int = usual
    ) -> Any:
        return finish(rule(seq_len, n_layers, n_kv_heads, d_head, bytes_per_element))

    return kv_cache_bytes


@misconception(
    "kv_cache_bytes",
    "keys only",
    about="content",
    told="You count one table a head. The cache holds two: keys and values.",
    question="Which two things does a new query need of every earlier token?",
    source="rohitg00/ai-engineering-from-scratch#57",
)
def keys_only() -> Iterator[Form]:
    yield from cached(lambda s, n, h, d, b: s * n * h * d * b)


@misconception(
    "kv_cache_bytes",
    "more than keys and values",
    about="content",
    told="You count more tables than keys and values. Queries are used once, and not kept.",
    question="Which of Q, K and V does the next token need again?",
)
def more_than_keys_and_values() -> Iterator[Form]:
    yield from cached(lambda s, n, h, d, b: 3 * s * n * h * d * b)
    yield from cached(lambda s, n, h, d, b: 4 * s * n * h * d * b)


@misconception(
    "kv_cache_bytes",
    "one layer",
    about="content",
    told="You count the cache of one layer. Every layer has keys and values of its own.",
    question="Does layer 2 read the keys of layer 1?",
    source="mudler/vllm.cpp#357",
)
def one_layer() -> Iterator[Form]:
    yield from cached(lambda s, n, h, d, b: 2 * s * h * d * b, lambda s, n, h, d, b: s * h * d * b)


@misconception(
    "kv_cache_bytes",
    "one head",
    about="content",
    told="You count one key/value head. Each has its own keys and values.",
    question="How many numbers does a token leave behind in one layer with 3 key/value heads?",
    source="rohitg00/ai-engineering-from-scratch#57",
)
def one_head() -> Iterator[Form]:
    yield from cached(lambda s, n, h, d, b: 2 * s * n * d * b, lambda s, n, h, d, b: s * n * d * b)


@misconception(
    "kv_cache_bytes",
    "one number a head",
    about="content",
    told="You count one number for each key and value. They are vectors, d_head numbers wide.",
    question="What is the shape of the keys of one head?",
)
def one_number_a_head() -> Iterator[Form]:
    yield from cached(lambda s, n, h, d, b: 2 * s * n * h * b)


@misconception(
    "kv_cache_bytes",
    "one token",
    about="content",
    told="You count what one token leaves behind. The cache holds all of them.",
    question="How many keys does a head hold after seq_len tokens?",
)
def one_token() -> Iterator[Form]:
    yield from cached(lambda s, n, h, d, b: 2 * n * h * d * b)


@misconception(
    "kv_cache_bytes",
    "a head too many",
    about="content",
    told=(
        "A factor is in your product twice. The width of all heads together is the number of heads "
        "times the width of one, and nothing more."
    ),
    question="How many numbers has a key of one head?",
    source="jranaraki/vllm-fit#2",
)
def head_too_many() -> Iterator[Form]:
    yield from cached(lambda s, n, h, d, b: 2 * s * n * h * h * d * b)
    yield from cached(lambda s, n, h, d, b: 2 * s * n * h * d * d * b)


@misconception(
    "kv_cache_bytes",
    "pairs",
    about="content",
    told=(
        "Your cache grows with the square of the length. It holds a key and a value for each "
        "token; scores of pairs are computed anew and thrown away."
    ),
    question="What is kept when the next token has been written?",
)
def cache_of_pairs() -> Iterator[Form]:
    yield from cached(lambda s, n, h, d, b: 2 * s * s * n * h * d * b)
    yield from cached(lambda s, n, h, d, b: s * s * n * h * b, lambda s, n, h, d, b: s * s * h * b)
    yield from cached(lambda s, n, h, d, b: 2 * s * s * n * h * b)


@misconception(
    "kv_cache_bytes",
    "numbers, not bytes",
    about="content bytes",
    told="You count how many numbers the cache holds, not how many bytes they take.",
    question="How many bytes does one number take, and which argument says so?",
)
def cache_of_numbers() -> Iterator[Form]:
    yield from cached(lambda s, n, h, d, b: 2 * s * n * h * d, lambda s, n, h, d, b: s * n * h * d)


@misconception(
    "kv_cache_bytes",
    "always the same bytes",
    about="content bytes",
    told="Your bytes are the same whatever bytes_per_element is.",
    question="Where does your code read bytes_per_element?",
)
def cache_of_same_bytes() -> Iterator[Form]:
    yield from cached(
        lambda s, n, h, d, b: 4 * s * n * h * d, lambda s, n, h, d, b: 8 * s * n * h * d
    )


@misconception(
    "kv_cache_bytes",
    "another default",
    about="bytes",
    told="Your bytes are right when bytes_per_element is given, and wrong when it is left out.",
    question="Which number of bytes does the signature promise, if none is given?",
)
def cache_with_another_default() -> Iterator[Form]:
    for usual in (1, 4, 8):
        yield cache_by(oracle.kv_cache_bytes, usual=usual)
        yield cache_by(oracle.kv_cache_bytes, float, usual)


@misconception(
    "kv_cache_bytes",
    "another unit",
    about="content",
    told="Your number is not in bytes.",
    question="How many bytes are a KiB, and how many bits are a byte?",
)
def cache_in_another_unit() -> Iterator[Form]:
    yield from cached(lambda s, n, h, d, b: 16 * s * n * h * d * b)
    yield from cached(*in_units(oracle.kv_cache_bytes))


@misconception(
    "kv_cache_bytes",
    "whole blocks",
    about="content",
    told=(
        "You count whole blocks or pages of tokens, as a server may reserve them. Asked is what "
        "seq_len tokens take."
    ),
    question="How many bytes do 3 tokens take beside 2?",
    source="RBLN-SW/vllm-rbln#417",
)
def whole_blocks() -> Iterator[Form]:
    def blocks_of(size: int) -> CacheRule:
        return lambda s, n, h, d, b: 2 * (-(-s // size) * size) * n * h * d * b

    yield from cached(*map(blocks_of, (8, 16, 32, 64, 128, 256)))
    yield from cached(lambda s, n, h, d, b: 2 * (1 << (s - 1).bit_length()) * n * h * d * b)


@misconception(
    "kv_cache_bytes",
    "32 bits",
    about="large",
    told=(
        "Your number is right while it is small, and wrong beyond 2³¹: a 32-bit integer ends there "
        "and begins anew, a 32-bit float rounds."
    ),
    question="Which dtype does your code give to its numbers?",
    source="1bit-MONSTER/1bit-MONSTER#974",
)
def cache_in_32_bits() -> Iterator[Form]:
    def size(s: int, n: int, h: int, d: int, b: int) -> int:
        return 2 * s * n * h * d * b

    yield from cached(lambda *sizes: wrapped(size(*sizes)))
    yield cache_by(lambda *sizes: np.int32(wrapped(size(*sizes))))
    yield from cached(lambda *sizes: size(*sizes) % 2**32)
    yield cache_by(lambda *sizes: np.uint32(size(*sizes) % 2**32))
    yield from cached(lambda *sizes: min(size(*sizes), 2**31 - 1))
    yield from cached(lambda *sizes: int(np.float32(size(*sizes))))
    yield cache_by(lambda *sizes: np.float32(size(*sizes)))


@misconception(
    "kv_cache_bytes",
    "keys and values apart",
    about="content bytes large",
    told="You return several numbers. Asked is one: all bytes together.",
    question="What is the sum of what you return?",
)
def keys_and_values_apart() -> Iterator[Form]:
    yield cache_by(lambda s, n, h, d, b: (s * n * h * d * b,) * 2)
    yield cache_by(lambda s, n, h, d, b: [2 * s * h * d * b] * n)


@misconception(
    "kv_cache_bytes",
    "nothing returned",
    about="content bytes large",
    told="Your function returns None: it counts and keeps the number to itself.",
    question="How does what a function has made reach the one who called it?",
)
def cache_nothing() -> Iterator[Form]:
    yield returns_nothing


# --- sliding_window_mask ----------------------------------------------------------------------

# (steps back from query to key (S, S), window) → whether the query may attend to the key
WindowRule = Callable[[Array, int], Array]


def window_by(rule: WindowRule, finish: Finish = lambda mask: mask) -> Form:
    """A sliding window by another rule, or in another form."""

    def sliding_window_mask(q_len: int, window: int) -> Any:
        positions = np.arange(q_len)
        return finish(rule(positions[:, None] - positions, window))

    return sliding_window_mask


def inside(back: Array, window: int) -> Array:
    """The right rule."""
    return (back >= 0) & (back < window)


def added(fill: float) -> Finish:
    """The mask as numbers to add to the scores."""
    return lambda mask: np.where(mask, 0.0, fill)


def windows(*rules: WindowRule) -> Iterator[Form]:
    """Each rule as booleans and as numbers."""
    for rule in rules:
        yield window_by(rule)
        yield window_by(rule, as_type(float))
        yield window_by(rule, as_type(int))
        yield window_by(rule, as_type(np.uint8))


@misconception(
    "sliding_window_mask",
    "one key too many",
    about="width",
    told=(
        "Your window holds one key more than it should: it counts the steps back, and the query's "
        "own position comes on top."
    ),
    question="With window 1: how many keys does a query see in your mask?",
    source=(
        "huggingface/transformers#39408; zml/zml#763; ml-explore/mlx-lm#390; "
        "mistralai/mistral-inference#137; sgl-project/sglang#34273; huggingface/transformers#26792"
    ),
)
def one_key_too_many() -> Iterator[Form]:
    yield from windows(lambda back, w: (back >= 0) & (back <= w))


@misconception(
    "sliding_window_mask",
    "one key too few",
    about="width",
    told="Your window holds one key fewer than it should.",
    question="With window 2: which keys does query 2 see in your mask, and how many are they?",
    source="huggingface/transformers#47010",
)
def one_key_too_few() -> Iterator[Form]:
    yield from windows(lambda back, w: (back >= 0) & (back < w - 1))
    yield from windows(lambda back, w: (back == 0) | ((back > 0) & (back < w - 1)))
    yield from windows(lambda back, w: (back >= 0) & (back < max(w - 1, 1)))


@misconception(
    "sliding_window_mask",
    "not even itself",
    about="width",
    told="In your mask no query sees its own position. The window counts it as the first.",
    question="May a position attend to itself? What does your first row allow?",
    source="pbloem/former#10",
)
def window_without_itself() -> Iterator[Form]:
    yield from windows(
        lambda back, w: (back > 0) & (back <= w), lambda back, w: (back > 0) & (back < w)
    )


@misconception(
    "sliding_window_mask",
    "later keys stay",
    about="causal",
    told=(
        "Your mask drops what lies too far back, and hides nothing that comes later. A window "
        "needs both ends."
    ),
    question="Which keys does query 0 see in your mask?",
    source="google/gemma_pytorch#73",
)
def later_keys_stay() -> Iterator[Form]:
    yield from windows(lambda back, w: back < w, lambda back, w: np.abs(back) < w)
    yield from windows(lambda back, w: back <= w, lambda back, w: np.abs(back) <= w)
    yield from windows(lambda back, w: back < w - 1, lambda back, w: np.abs(back) < w - 1)
    yield from windows(lambda back, w: np.abs(back) <= w // 2)


@misconception(
    "sliding_window_mask",
    "the window ahead",
    about="causal width",
    told="Your window looks ahead: a query sees itself and the keys that come after it.",
    question="Which of the two indices must be the larger one: the query's or the key's?",
)
def window_ahead() -> Iterator[Form]:
    yield from windows(
        lambda back, w: (back <= 0) & (back > -w), lambda back, w: (back <= 0) & (back >= -w)
    )


@misconception(
    "sliding_window_mask",
    "no window",
    about="width",
    told="Your mask is the causal one: however long ago a key was, a query may still see it.",
    question="With window 2 and four positions: which keys may the last query see?",
    source="proger/hippogriff#7",
)
def no_window() -> Iterator[Form]:
    yield from windows(lambda back, w: back >= 0)


@misconception(
    "sliding_window_mask",
    "the far keys",
    about="width",
    told="Your mask keeps what lies outside the window, and drops what lies inside it.",
    question="With window 1: which key must each query see?",
)
def far_keys() -> Iterator[Form]:
    yield from windows(lambda back, w: back >= w, lambda back, w: back > w)
    yield from windows(lambda back, w: back >= w - 1)


@misconception(
    "sliding_window_mask",
    "blocks instead of a window",
    about="width",
    told=(
        "Your mask cuts the sequence into blocks, and a query sees its own block only. A sliding "
        "window moves along with the query."
    ),
    question="With window 2: how many keys does query 2 see in your mask, and how many query 3?",
    source="maxjcohen/transformer#12",
)
def blocks_not_window() -> Iterator[Form]:
    def blocks(back: Array, window: int) -> Array:
        block = np.arange(len(back)) // window
        return (back >= 0) & (block[:, None] == block)

    def two_blocks(back: Array, window: int) -> Array:
        block = np.arange(len(back)) // window
        return (back >= 0) & (block[:, None] - block <= 1)

    yield from windows(blocks, two_blocks)


@misconception(
    "sliding_window_mask",
    "the first keys",
    about="width",
    told="Your window stays at the beginning of the sequence. It must move along with the query.",
    question="With window 2: which keys must query 3 see?",
)
def first_keys() -> Iterator[Form]:
    yield from windows(lambda back, w: (back >= 0) & (np.arange(len(back)) < w))


@misconception(
    "sliding_window_mask",
    "True hides",
    about="causal width",
    told=("Your mask is True where a key is to be hidden. In this course True means: may attend."),
    question="Which entry of the first row must be True, and which is in yours?",
    source="rasbt/LLMs-from-scratch#1061; pytorch/pytorch#92554",
)
def window_true_hides() -> Iterator[Form]:
    yield from windows(lambda back, w: ~inside(back, w), lambda back, w: (back < 0) | (back > w))


@misconception(
    "sliding_window_mask",
    "numbers to add to the scores",
    about="causal width form",
    told=(
        "Your mask holds 0 where a query may attend and −∞ (or a large negative number) where it "
        "may not: the form that is added to scores. Read as True and False it says the opposite."
    ),
    question="What is `bool(0.0)`, and what is `bool(-math.inf)`?",
    source="pytorch/pytorch#92554; pytorch/pytorch#21518",
)
def window_additive() -> Iterator[Form]:
    yield window_by(inside, added(-np.inf))
    yield window_by(lambda back, w: (back >= 0) & (back <= w), added(-np.inf))
    for fill in (-1e9, -1e10, -1e4, float(np.finfo(np.float32).min)):
        yield window_by(inside, added(fill))


mistakes_of_form(
    "sliding_window_mask", "(S, S)", "causal width", lambda finish: window_by(inside, finish)
)
