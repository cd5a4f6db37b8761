"""Lesson 05: how people get heads, multi-head and grouped-query attention wrong, and what they are
told. Forms are a right layer with one piece exchanged; sources are public issues."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from grader import oracle
from grader.misconceptions import masks as lesson_03
from grader.misconceptions.family import Form, misconception, right

Array = np.ndarray

right("split_heads")(oracle.split_heads)
right("merge_heads")(oracle.merge_heads)
right("multi_head_attention")(oracle.multi_head_attention)
right("grouped_query_attention")(oracle.grouped_query_attention)


# --- split_heads ------------------------------------------------------------------------------


def split(t: Array, n: int) -> Array:
    """The right one."""
    return np.swapaxes(t.reshape(*t.shape[:2], n, -1), 1, 2)


def split_by_reshape(t: Array, n: int) -> Array:
    """The axes in the right order, the numbers not."""
    return t.reshape(t.shape[0], n, t.shape[1], -1)


def dealt_out(t: Array, n: int) -> Array:
    """Head h gets columns h, h + H, h + 2H …"""
    return np.moveaxis(t.reshape(*t.shape[:2], -1, n), -1, 1)


@misconception(
    "split_heads",
    "split by reshape alone",
    about="order batch",
    told=(
        "Your code reshapes straight to (B, H, S, d). A reshape keeps the numbers in their order "
        "in memory, token after token, so a head gets all the columns of some tokens instead of "
        "some columns of all tokens."
    ),
    question=(
        "Which shape can x be reshaped to so that each token stays whole, and which two axes must "
        "then be exchanged?"
    ),
    source="reczoo/FuxiCTR#30; hyunwoongko/transformer#15",
)
def heads_by_reshape() -> Iterator[Form]:
    yield split_by_reshape
    yield lambda x, n_heads: np.stack([part.reshape(n_heads, x.shape[1], -1) for part in x])
    yield lambda x, n_heads: x.reshape(x.shape[0], n_heads, x.shape[1], -1).copy()


@misconception(
    "split_heads",
    "columns dealt out in turn",
    about="order batch",
    told=(
        "Your head 0 takes every H-th column, like cards that are dealt out. A head is a block of "
        "neighbouring columns: those that one slice of W makes."
    ),
    question="When the last axis is cut in two, which of the two new axes counts slowly?",
)
def columns_dealt() -> Iterator[Form]:
    yield dealt_out
    yield lambda x, n_heads: np.stack([x[..., h::n_heads] for h in range(n_heads)], axis=1)
    yield lambda x, n_heads: x.reshape((*x.shape[:2], n_heads, -1), order="F").swapaxes(1, 2)


@misconception(
    "split_heads",
    "number of heads taken for the width",
    about="order batch",
    told=(
        "Your code makes heads that are n_heads wide, as many as fit. With n_heads=2 there must be "
        "two heads."
    ),
    question="Which of the two lengths that the last axis is cut into is n_heads?",
)
def number_for_width() -> Iterator[Form]:
    yield lambda x, n_heads: split(x, x.shape[-1] // n_heads)


@misconception(
    "split_heads",
    "heads not moved in front of the tokens",
    about="order batch",
    told=(
        "Your result still has the tokens in front of the heads. Attention compares the last two "
        "axes, so it would compare the heads of one token with each other."
    ),
    question="Which two axes must stand last for a product of queries and keys?",
    source="aladdinpersson/Machine-Learning-Collection#165",
)
def not_moved() -> Iterator[Form]:
    yield lambda x, n_heads: x.reshape(*x.shape[:2], n_heads, -1)


@misconception(
    "split_heads",
    "heads in front of the batch",
    about="order batch",
    told="Your result has the heads first and the items second, or no axis for the items at all.",
    question="In which order does the docstring name the axes of the result?",
    source="Kyubyong/transformer#55; lsdefine/attention-is-all-you-need-keras#36",
)
def heads_first() -> Iterator[Form]:
    yield lambda x, n_heads: np.array(np.split(x, n_heads, axis=-1))
    yield lambda x, n_heads: split(x, n_heads).swapaxes(0, 1)
    yield lambda x, n_heads: np.concatenate(np.split(x, n_heads, axis=-1))
    yield lambda x, n_heads: split(x, n_heads).reshape(-1, x.shape[1], x.shape[2] // n_heads)


@misconception(
    "split_heads",
    "other axes exchanged",
    about="order batch",
    told="Your code exchanges axes, but not (or not only) those of the tokens and of the heads.",
    question="Write the four axes down by name before and after your transpose: where is each?",
    source="aladdinpersson/Machine-Learning-Collection#165",
)
def other_axes() -> Iterator[Form]:
    def turned(*order: int) -> Form:
        return lambda x, n_heads: x.reshape(*x.shape[:2], n_heads, -1).transpose(order)

    yield from (turned(*order) for order in ((0, 2, 3, 1), (0, 1, 3, 2), (0, 3, 1, 2)))
    yield from (
        turned(*order) for order in ((0, 3, 2, 1), (1, 2, 0, 3), (2, 1, 0, 3), (3, 2, 1, 0))
    )
    yield lambda x, n_heads: x.swapaxes(1, 2).reshape(len(x), n_heads, x.shape[1], -1)


@misconception(
    "split_heads",
    "memory order of Fortran",
    about="order batch",
    told="Your reshape reads and writes with the first axis changing fastest, not the last.",
    question="What does `order=` say in your reshape?",
)
def split_fortran_order() -> Iterator[Form]:
    yield lambda x, n_heads: x.reshape((len(x), n_heads, x.shape[1], -1), order="F")


@misconception(
    "split_heads",
    "tokens split instead of columns",
    about="order batch",
    told="Your code gives each head some of the tokens. Each head must get all tokens.",
    question="Along which axis of x do the columns lie?",
)
def tokens_split() -> Iterator[Form]:
    yield lambda x, n_heads: np.stack(np.split(x, n_heads, axis=1), axis=1)
    yield lambda x, n_heads: np.stack(np.array_split(x, n_heads, axis=1), axis=1)


@misconception(
    "split_heads",
    "every head gets the whole width",
    about="order batch",
    told="Your code copies x for each head. The heads share the columns out among themselves.",
    question="How wide is a head when d_model is 4 and there are 2 heads?",
)
def whole_width() -> Iterator[Form]:
    yield lambda x, n_heads: np.repeat(x[:, None], n_heads, axis=1)


@misconception(
    "split_heads",
    "a list of heads",
    about="order batch",
    told="Your code returns a list with one array for each head. It must be one array.",
    question="Which NumPy function joins arrays along a new axis?",
)
def list_of_heads() -> Iterator[Form]:
    yield lambda x, n_heads: np.split(x, n_heads, axis=-1)
    yield lambda x, n_heads: list(split(x, n_heads).swapaxes(0, 1))


@misconception(
    "split_heads",
    "nothing returned",
    about="order batch",
    told="Your function returns None: it makes the heads and keeps them to itself.",
    question="How does what a function has made reach the one who called it?",
)
def split_nothing() -> Iterator[Form]:
    yield lambda x, n_heads: None


@misconception(
    "split_heads",
    "a buffer of another type",
    about="batch",
    told="Your code copies x into an array of whole numbers, which cuts the digits off.",
    question="Of which dtype is the array that you write the heads into?",
)
def split_buffer() -> Iterator[Form]:
    yield lambda x, n_heads: split(x, n_heads).astype(int)


# --- merge_heads ------------------------------------------------------------------------------


def merge(y: Array) -> Array:
    """The right one."""
    return np.swapaxes(y, 1, 2).reshape(y.shape[0], y.shape[2], -1)


def merge_by_reshape(y: Array) -> Array:
    """The shape is right, the numbers are in another order."""
    return y.reshape(y.shape[0], y.shape[2], -1)


def collected(y: Array) -> Array:
    """The columns of the heads in turn: column 0 of each head, then column 1 of each."""
    return np.moveaxis(y, 1, -1).reshape(y.shape[0], y.shape[2], -1)


@misconception(
    "merge_heads",
    "merged by reshape alone",
    about="order batch",
    told=(
        "Your code reshapes straight to (B, S, d_model). In memory all tokens of head 0 come "
        "first, so the first rows of the result are filled with one head of several tokens."
    ),
    question="Which axes must be exchanged first, so that the heads of one token are neighbours?",
    source="jsbaan/transformer-from-scratch#6; ajhalthor/Transformer-Neural-Network#4",
)
def merged_by_reshape() -> Iterator[Form]:
    yield merge_by_reshape
    yield lambda x: merge_by_reshape(
        np.concatenate(list(x.swapaxes(0, 1)), axis=1)[:, None]
    ).reshape(x.shape[0], x.shape[2], -1)
    yield lambda x: np.stack([part.reshape(x.shape[2], -1) for part in x])


@misconception(
    "merge_heads",
    "batch and heads exchanged",
    about="order batch",
    told=(
        "Your code takes the first axis for the heads and the second for the items. With more "
        "than one item, numbers of different items end up in one row."
    ),
    question="Which axis of the argument counts the items, and where does it go in your code?",
    source="gazelle93/Transformer-Various-Positional-Encoding#1",
)
def batch_exchanged() -> Iterator[Form]:
    def reshaped(x: Array) -> Any:
        B, H, S, d = x.shape
        return x.reshape(H, B, S, d).transpose(1, 2, 0, 3).reshape(B, S, H * d)

    yield reshaped
    yield lambda x: x.transpose(1, 2, 0, 3).reshape(x.shape[0], x.shape[2], -1)
    yield lambda x: x.transpose(1, 2, 0, 3).reshape(x.shape[1], x.shape[2], -1)
    yield lambda x: x.transpose(2, 0, 1, 3).reshape(x.shape[0], x.shape[2], -1)


@misconception(
    "merge_heads",
    "columns collected in turn",
    about="order batch",
    told=(
        "Your rows hold column 0 of every head, then column 1 of every head. The columns of one "
        "head belong together."
    ),
    question="Which of the two last axes must be the very last one before you reshape?",
    source="aladdinpersson/Machine-Learning-Collection#165",
)
def columns_collected() -> Iterator[Form]:
    yield collected
    yield lambda x: np.stack(list(x.swapaxes(0, 1)), axis=-1).reshape(x.shape[0], x.shape[2], -1)
    yield lambda x: x.swapaxes(1, 2).reshape((x.shape[0], x.shape[2], -1), order="F")


@misconception(
    "merge_heads",
    "other axes exchanged",
    about="order batch",
    told="Your code exchanges axes, but not those of the heads and of the tokens.",
    question="Write the four axes down by name before and after your transpose: where is each?",
)
def merge_other_axes() -> Iterator[Form]:
    def turned(*order: int) -> Form:
        return lambda x: x.transpose(order).reshape(x.shape[0], x.shape[2], -1)

    yield from (turned(*order) for order in ((0, 1, 3, 2), (0, 3, 1, 2), (0, 3, 2, 1)))


@misconception(
    "merge_heads",
    "memory order of Fortran",
    about="order batch",
    told="Your reshape reads and writes with the first axis changing fastest, not the last.",
    question="What does `order=` say in your reshape or ravel?",
)
def fortran_order() -> Iterator[Form]:
    yield lambda x: x.reshape((x.shape[0], x.shape[2], -1), order="F")


@misconception(
    "merge_heads",
    "heads below each other",
    about="order batch",
    told=(
        "Your code lines the heads up along the tokens or the items: more rows come out, and each "
        "is still d wide."
    ),
    question="How many tokens went in, and how many rows must come out?",
)
def heads_below() -> Iterator[Form]:
    yield lambda x: x.reshape(x.shape[0], -1, x.shape[-1])
    yield lambda x: np.swapaxes(x, 1, 2).reshape(x.shape[0], -1, x.shape[-1])
    yield lambda x: np.concatenate(list(x.swapaxes(0, 1)), axis=0)
    yield lambda x: np.concatenate(list(x), axis=0)


@misconception(
    "merge_heads",
    "heads added up",
    about="order batch",
    told=(
        "Your code adds or averages the heads, or takes the largest of their numbers. What they "
        "found is then no longer apart, and the result is d wide instead of H·d."
    ),
    question="How wide must a row be that holds every number of every head?",
)
def heads_added() -> Iterator[Form]:
    yield lambda x: x.sum(axis=1)
    yield lambda x: x.mean(axis=1)
    yield lambda x: x.max(axis=1)


@misconception(
    "merge_heads",
    "one head only",
    about="order batch",
    told="Your code returns one head and drops the others.",
    question="How wide must a row be that holds every number of every head?",
)
def one_head_only() -> Iterator[Form]:
    yield lambda x: x[:, 0]
    yield lambda x: x[:, -1]


@misconception(
    "merge_heads",
    "axes of length 1 lost",
    about="order batch",
    told="Your result loses an axis when there is one item, or one token, only.",
    question="Which function in your code drops axes, and is it needed?",
)
def merge_squeezed() -> Iterator[Form]:
    yield lambda x: np.squeeze(merge(x))
    yield lambda x: merge(x)[0] if len(x) == 1 else merge(x)


@misconception(
    "merge_heads",
    "heads in reverse",
    about="order batch",
    told="Your rows begin with the last head.",
    question="Which columns of the result belong to head 0?",
)
def heads_in_reverse() -> Iterator[Form]:
    yield lambda x: merge(x[:, ::-1])


@misconception(
    "merge_heads",
    "not flattened",
    about="order batch",
    told="Your result still has an axis for the heads: nothing has joined the last two axes.",
    question="How many axes must come out, and how do two axes become one?",
)
def not_flattened() -> Iterator[Form]:
    yield lambda x: np.swapaxes(x, 1, 2)
    yield lambda x: np.swapaxes(x, 1, 2).reshape(x.shape[0], x.shape[2], x.shape[1], -1)


@misconception(
    "merge_heads",
    "nothing returned",
    about="order batch",
    told="Your function returns None: it merges the heads and keeps the result to itself.",
    question="How does what a function has made reach the one who called it?",
)
def merge_nothing() -> Iterator[Form]:
    yield lambda x: None


@misconception(
    "merge_heads",
    "a buffer of another type",
    about="batch",
    told="Your code copies the heads into an array of whole numbers, which cuts the digits off.",
    question="Of which dtype is the array that you write the heads into?",
)
def merge_buffer() -> Iterator[Form]:
    yield lambda x: merge(x).astype(int)


# --- pieces of a layer that the forms vary ----------------------------------------------------

Project = Callable[..., tuple[Array, Array, Array]]
Split = Callable[[Array, int], Array]
Share = Callable[[Array, int], Array]
Factor = Callable[[Array, Array, Array, Array], float]
Fit = Callable[[Array, Array], Array]


def projected(
    x: Array, Wq: Array, Wk: Array, Wv: Array, n_heads: int, n_kv_heads: int
) -> tuple[Array, Array, Array]:
    """Queries, keys and values."""
    return x @ Wq, x @ Wk, x @ Wv


def repeated(t: Array, n_heads: int) -> Array:
    """Each key/value head for all heads of its group."""
    return np.repeat(t, n_heads // t.shape[1], axis=1)


def root(x: Array, Q: Array, K: Array, Wk: Array) -> float:
    """The right scale."""
    return 1 / math.sqrt(Q.shape[-1])


def item_by_item(mask: Array, scores: Array) -> Array:
    """The right reading of a mask."""
    return mask[:, None] if mask.ndim == 3 else mask


def mixed(weights: Array, V: Array) -> Array:
    """The weighted sum of the values."""
    return weights @ V


def times_Wo(merged: Array, x: Array, Wo: Array) -> Any:  # noqa: N802  (the matrix's name)
    """The right end."""
    return merged @ Wo


def layer(
    project: Project = projected,
    cut: Split = split,
    share: Share = repeated,
    share_values: Share | None = None,
    factor: Factor = root,
    fit: Fit = item_by_item,
    hide: lesson_03.Hide = lesson_03.INFINITY,
    soften: lesson_03.Soften = lesson_03.soft,
    mix: Callable[[Array, Array], Array] = mixed,
    join: Callable[[Array], Array] = merge,
    finish: Callable[[Array, Array, Array], Any] = times_Wo,
) -> Form:
    """A grouped-query attention made of these pieces."""

    def grouped_query_attention(
        x: Array, Wq: Array, Wk: Array, Wv: Array, Wo: Array,
        n_heads: int, n_kv_heads: int, mask: Array | None = None,
    ) -> Any:  # fmt: skip
        Q, K, V = project(x, Wq, Wk, Wv, n_heads, n_kv_heads)
        Q, K, V = cut(Q, n_heads), cut(K, n_kv_heads), cut(V, n_kv_heads)
        K, V = share(K, n_heads), (share_values or share)(V, n_heads)
        with np.errstate(all="ignore"):
            scores = Q @ np.swapaxes(K, -1, -2) * factor(x, Q, K, Wk)
            weights = soften(scores if mask is None else hide(scores, fit(mask, scores)))
            return finish(join(mix(weights, V)), x, Wo)

    return grouped_query_attention


def as_multi_head(form: Form) -> Form:
    """The form with keys and values for every head."""

    def multi_head_attention(
        x: Array, Wq: Array, Wk: Array, Wv: Array, Wo: Array,
        n_heads: int, mask: Array | None = None,
    ) -> Any:  # fmt: skip
        return form(x, Wq, Wk, Wv, Wo, n_heads, n_heads, mask)

    return multi_head_attention


Forms = Callable[[], Iterator[Form]]


def in_both(
    name: str, about: str, told: str, question: str, source: str = ""
) -> Callable[[Forms], Forms]:
    """Register a misconception of grouped-query attention, and the same of multi-head attention.

    Both name their mechanisms alike, but for the groups, which multi-head attention has not.
    """

    def register(forms: Forms) -> Forms:
        misconception("grouped_query_attention", name, about, told, question, source)(forms)
        misconception("multi_head_attention", name, about, told, question, source)(
            lambda: map(as_multi_head, forms())
        )
        return forms

    return register


def of_multi_head(
    name: str, about: str, told: str, question: str, source: str = ""
) -> Callable[[Forms], Forms]:
    """Register a misconception of multi-head attention whose forms are those of `layer`."""

    def register(forms: Forms) -> Forms:
        misconception("multi_head_attention", name, about, told, question, source)(
            lambda: map(as_multi_head, forms())
        )
        return forms

    return register


HEADS = "heads groups ends"
EVERY_MASK = "mask items tables empty"
EVERYWHERE = f"{HEADS} output scale {EVERY_MASK}"

# --- both attentions: the heads ---------------------------------------------------------------


@in_both(
    "heads split by reshape",
    about=EVERYWHERE,
    told=(
        "Your code reshapes straight to (B, H, S, d). A head then gets whole tokens, cut into "
        "pieces, instead of some columns of every token."
    ),
    question="What does your own `split_heads` do that this line does not?",
    source="reczoo/FuxiCTR#30; hyunwoongko/transformer#15",
)
def attention_split_by_reshape() -> Iterator[Form]:
    yield layer(cut=split_by_reshape)
    yield layer(cut=split_by_reshape, join=merge_by_reshape)


@in_both(
    "heads merged by reshape",
    about=EVERYWHERE,
    told=(
        "Your code reshapes the heads straight to (B, S, d_model), or lines them up along the "
        "tokens first. A row of the result is then filled with one head of several tokens, later "
        "ones too."
    ),
    question="What does your own `merge_heads` do that this line does not?",
    source="jsbaan/transformer-from-scratch#6; ajhalthor/Transformer-Neural-Network#4",
)
def attention_merged_by_reshape() -> Iterator[Form]:
    yield layer(join=merge_by_reshape)


@in_both(
    "columns dealt out in turn",
    about=EVERYWHERE,
    told=(
        "Your heads take every H-th column instead of a block of neighbouring ones, or put their "
        "columns back in that order."
    ),
    question="Which columns of x @ Wq belong to head 0?",
)
def attention_dealt_out() -> Iterator[Form]:
    yield layer(cut=dealt_out)
    yield layer(join=collected)
    yield layer(cut=dealt_out, join=collected)


def by_token(t: Array, n: int) -> Array:
    """Heads cut, but left behind the tokens: (B, S, H, d)."""
    return t.reshape(*t.shape[:2], n, -1)


@in_both(
    "heads attend to heads",
    about=EVERYWHERE,
    told=(
        "In your code the tokens still stand in front of the heads when queries meet keys. So the "
        "heads of one token look at each other, and no token ever looks at another one."
    ),
    question="Which shape have your scores, and how many queries and keys do they compare?",
    source="HabanaAI/vllm-fork#1218",
)
def heads_to_heads() -> Iterator[Form]:
    def spread(t: Array, n_heads: int) -> Array:
        return np.repeat(t, n_heads // t.shape[2], axis=2)

    def joined(y: Array) -> Array:
        return y.reshape(*y.shape[:2], -1)

    yield layer(cut=by_token, share=spread, join=joined)
    yield layer(
        cut=by_token, share=lambda t, n: np.tile(t, (1, 1, n // t.shape[2], 1)), join=joined
    )


@of_multi_head(
    "not split into heads",
    about=EVERYWHERE,
    told=(
        "Your code never cuts queries and keys into heads: one wide softmax decides for all "
        "columns. The number of heads has no effect, except perhaps on the scale."
    ),
    question="How many rows of weights does each token get in your code, and how many should it?",
    source="MarcoMeter/episodic-transformer-memory-ppo#22",
)
def one_wide_head() -> Iterator[Form]:
    def by_number_of_heads(
        x: Array, Wq: Array, Wk: Array, Wv: Array, Wo: Array,
        n_heads: int, n_kv_heads: int, mask: Array | None = None,
    ) -> Any:  # fmt: skip
        wide = layer(factor=lambda x, Q, K, Wk: 1 / math.sqrt(Q.shape[-1] // n_heads))
        return wide(x, Wq, Wk, Wv, Wo, 1, 1, mask)

    def by_whole_width(x: Array, *given: Any, **kwargs: Any) -> Any:
        *W, _, _, mask = given
        return layer()(x, *W, 1, 1, mask)

    def unscaled(x: Array, *given: Any, **kwargs: Any) -> Any:
        *W, _, _, mask = given
        return layer(factor=lambda *parts: 1.0)(x, *W, 1, 1, mask)

    yield from (by_number_of_heads, by_whole_width, unscaled)


@of_multi_head(
    "all heads read head 0",
    about=EVERYWHERE,
    told="All your heads compute the same: they read the columns of head 0, or of one head only.",
    question="Where does the number of the head come into the columns that your code takes?",
    source="BobMcDear/attorch#14; PSAL-POSTECH/ONNXim#34",
)
def all_read_head_0() -> Iterator[Form]:
    def only(index: int) -> Split:
        def cut(t: Array, n: int) -> Array:
            heads = split(t, n)
            return np.repeat(heads[:, [index]], n, axis=1)

        return cut

    def first(t: Array, n_heads: int) -> Array:
        return np.repeat(t[:, :1], n_heads, axis=1)

    def own(t: Array, n_heads: int) -> Array:
        return t

    yield layer(cut=only(0))
    yield layer(cut=only(-1))
    yield layer(share=first)
    yield layer(share=own, share_values=first)
    yield layer(share=first, share_values=own)


@of_multi_head(
    "x cut before it is projected",
    about=f"{HEADS} output",
    told=(
        "Each of your heads sees its own columns of x alone, and a block of each matrix. A head "
        "must be able to read every number of a token: first the projection, then the cut."
    ),
    question="How many columns of x does head 0 read, and how many should it?",
    source="aladdinpersson/Machine-Learning-Collection#3",
)
def cut_before_projection() -> Iterator[Form]:
    def blocks(x: Array, *given: Any) -> Any:
        *W, n_heads, _ = given
        d = x.shape[-1] // n_heads
        apart = np.kron(np.eye(n_heads), np.ones((d, d)))
        return tuple(x @ (matrix * apart) for matrix in W)

    yield layer(project=blocks)

    def one_block(x: Array, *given: Any) -> Any:
        *W, n_heads, _ = given
        d = x.shape[-1] // n_heads
        return tuple(x @ np.kron(np.eye(n_heads), matrix[:d, :d]) for matrix in W)

    yield layer(project=one_block)


@of_multi_head(
    "matrices split by reshape",
    about=f"{HEADS} output",
    told=(
        "Your code reshapes the matrices straight to (H, d_model, d). That keeps their numbers in "
        "their order in memory, and gives head 0 the first rows of W instead of its first columns."
    ),
    question="Which columns of Wq belong to head 0, and which rows does your reshape put there?",
)
def matrices_by_reshape() -> Iterator[Form]:
    def regrouped(x: Array, *given: Any) -> Any:
        *W, n_heads, _ = given
        D = x.shape[-1]
        return tuple(
            x @ matrix.reshape(n_heads, D, -1).swapaxes(0, 1).reshape(D, D) for matrix in W
        )

    yield layer(project=regrouped)


@of_multi_head(
    "matrices transposed",
    about=f"{HEADS} output",
    told=(
        "Your code multiplies by the transpose of the matrices. Some libraries store them that "
        "way; here a projection is x @ W."
    ),
    question="Does row i of W belong to input i or to output i?",
)
def matrices_transposed() -> Iterator[Form]:
    def turned(x: Array, *given: Any) -> Any:
        *W, _, _ = given
        return tuple(x @ matrix.T for matrix in W)

    yield layer(project=turned)
    yield layer(project=turned, finish=lambda y, x, Wo: y @ Wo.T)


@in_both(
    "a matrix left out",
    about=f"{HEADS} output scale",
    told=(
        "One of Wq, Wk and Wv has no effect in your code: two of queries, keys and values are made "
        "by the same matrix, or one is not projected at all."
    ),
    question="Queries, keys and values: by which matrix is each of them made in your code?",
)
def matrix_left_out() -> Iterator[Form]:
    yield layer(project=lambda x, Wq, Wk, Wv, n, kv: (x @ Wq, x @ Wk, x @ Wk))
    yield layer(project=lambda x, Wq, Wk, Wv, n, kv: (x @ Wq, x @ Wv, x @ Wv))
    yield layer(project=lambda x, Wq, Wk, Wv, n, kv: (x @ Wq, x @ Wq, x @ Wv))
    yield layer(project=lambda x, Wq, Wk, Wv, n, kv: (x @ Wk, x @ Wk, x @ Wv))
    yield layer(project=lambda x, Wq, Wk, Wv, n, kv: (x @ Wq, x @ Wq, x @ Wq))
    yield layer(project=lambda x, Wq, Wk, Wv, n, kv: (x @ Wq, x @ Wk, x))
    yield layer(project=lambda x, Wq, Wk, Wv, n, kv: (x, x @ Wk, x @ Wv))
    yield layer(project=lambda x, Wq, Wk, Wv, n, kv: (x, x, x))


@in_both(
    "keys and values exchanged",
    about=f"{HEADS} output scale",
    told="Your code compares queries with the values, and mixes the keys.",
    question="Which of the three does the output consist of?",
)
def keys_for_values() -> Iterator[Form]:
    yield layer(project=lambda x, Wq, Wk, Wv, n, kv: (x @ Wq, x @ Wv, x @ Wk))


@of_multi_head(
    "queries and keys exchanged",
    about=HEADS,
    told="In your code the keys ask and the queries answer: each row of scores belongs to a key.",
    question="Whose rows must the scores have, and whose columns?",
)
def queries_for_keys() -> Iterator[Form]:
    yield layer(project=lambda x, Wq, Wk, Wv, n, kv: (x @ Wk, x @ Wq, x @ Wv))


def softmax_along(axis: int | tuple[int, ...]) -> lesson_03.Soften:
    """A softmax of finite or hidden scores along other axes than the keys'."""

    def soften(scores: Array) -> Array:
        highest = np.max(scores, axis=axis, keepdims=True)
        exponentials = np.exp(scores - np.where(np.isneginf(highest), 0.0, highest))
        total = exponentials.sum(axis=axis, keepdims=True)
        return exponentials / np.where(total == 0, 1.0, total)

    return soften


@in_both(
    "softmax along another axis",
    about=f"{HEADS} scale {EVERY_MASK}",
    told=(
        "Your softmax does not run along the keys: what sums to 1 is a column, or the same place "
        "in all heads. The weights of one query of one head are what must sum to 1."
    ),
    question="Which of the four axes of the scores belongs to the keys?",
)
def other_softmax() -> Iterator[Form]:
    for axis in (-2, 1, 0, (-2, -1), (1, 2, 3)):
        yield layer(soften=softmax_along(axis))


@in_both(
    "no softmax",
    about=f"{HEADS} output scale {EVERY_MASK}",
    told="Your code mixes the values by the scores themselves: there is no softmax.",
    question="What must the weights of a query sum to?",
)
def no_softmax() -> Iterator[Form]:
    for hide in (lesson_03.INFINITY, lesson_03.filled(-1e9), lesson_03.filled(0.0)):
        yield layer(soften=lambda scores: scores, hide=hide)


@in_both(
    "weights transposed",
    about=HEADS,
    told="Your code mixes the values by the transposed weights: by columns instead of rows.",
    question="Which row of the weights belongs to query 0?",
)
def weights_transposed() -> Iterator[Form]:
    yield layer(mix=lambda weights, V: np.swapaxes(weights, -1, -2) @ V)


@in_both(
    "heads averaged",
    about=f"{HEADS} output",
    told="Your code averages or adds the heads, so what they found is no longer apart.",
    question="How wide is the result before Wo if every head keeps its own columns?",
    source="awf/functional-transformer#8",
)
def heads_averaged() -> Iterator[Form]:
    def forms(put: Callable[..., Array]) -> Iterator[Form]:
        def alone(y: Array) -> Array:
            return put(y, axis=1)

        def side_by_side(y: Array) -> Array:
            return np.tile(put(y, axis=1), (1, 1, y.shape[1]))

        yield layer(join=alone, finish=lambda y, x, Wo: y @ Wo[: y.shape[-1]])
        yield layer(join=side_by_side)

    yield from forms(np.mean)
    yield from forms(np.sum)


@in_both(
    "one head meets a whole matrix",
    about=HEADS,
    told=(
        "In your code an array that is as wide as one head meets a matrix for the whole width. "
        "Either x is cut before it is projected, or the heads do not stand side by side before Wo."
    ),
    question="How wide must an array be to meet Wq, and how wide to meet Wo?",
    source="aladdinpersson/Machine-Learning-Collection#3",
)
def one_head_meets_a_matrix() -> Iterator[Form]:
    def cut_first(
        x: Array, Wq: Array, Wk: Array, Wv: Array, Wo: Array,
        n_heads: int, n_kv_heads: int, mask: Array | None = None,
    ) -> Any:  # fmt: skip
        heads = split(x, n_heads)
        whole = layer(project=lambda *given: (heads @ Wq, heads @ Wk, heads @ Wv))
        return whole(x, Wq, Wk, Wv, Wo, n_heads, n_kv_heads, mask)

    yield cut_first
    yield layer(join=lambda y: y.mean(axis=1))
    yield layer(join=lambda y: y.sum(axis=1))


@in_both(
    "x added to the result",
    about=f"{HEADS} output",
    told="Your code adds x to the result. Layers are often used so, but who calls this adds it.",
    question="If all values are zero, what comes out, and what should?",
)
def residual() -> Iterator[Form]:
    yield layer(finish=lambda y, x, Wo: y @ Wo + x)


@in_both(
    "weights returned too",
    about=f"{HEADS} output scale kinds {EVERY_MASK}",
    told="Your code returns a pair, as scaled_dot_product_attention does. Wanted is one array.",
    question="What do you get from scaled_dot_product_attention, and what do you need of it?",
)
def pair_returned() -> Iterator[Form]:
    yield layer(finish=lambda y, x, Wo: (y @ Wo, y))


@in_both(
    "nothing returned",
    about=f"{HEADS} output scale kinds {EVERY_MASK}",
    told="Your function returns None: it computes a result and keeps it to itself.",
    question="How does what a function has made reach the one who called it?",
)
def attention_nothing() -> Iterator[Form]:
    yield layer(finish=lambda y, x, Wo: None)


# --- both attentions: Wo ----------------------------------------------------------------------


@in_both(
    "no output projection",
    about="output",
    told=(
        "Your code returns the merged heads as they are. Without Wo every head keeps to its own "
        "columns, and nothing brings together what they found."
    ),
    question="Which of the arguments has no effect on your result?",
    source="ethen8181/machine-learning#13; Kyubyong/transformer#17",
)
def no_output_projection() -> Iterator[Form]:
    yield layer(finish=lambda y, x, Wo: y)


@in_both(
    "Wo transposed",
    about="output",
    told="Your code multiplies by the transpose of Wo.",
    question="Which rows of Wo belong to head 0?",
)
def Wo_transposed() -> Iterator[Form]:  # noqa: N802  (the matrix's name)
    yield layer(finish=lambda y, x, Wo: y @ Wo.T)
    yield layer(finish=lambda y, x, Wo: np.einsum("bsd,ed->bse", y, Wo))


@in_both(
    "Wo applied twice",
    about="output",
    told="Your code multiplies by Wo twice.",
    question="On how many lines does Wo stand, or what stands between Wo and your `return`?",
)
def Wo_twice() -> Iterator[Form]:  # noqa: N802
    yield layer(finish=lambda y, x, Wo: y @ Wo @ Wo)


# --- both attentions: the scale ---------------------------------------------------------------


@in_both(
    "scaled by the whole width",
    about="scale",
    told=(
        "Your scale comes from d_model. But each score is a dot product of one head's queries and "
        "keys, and sums only as many products as a head is wide."
    ),
    question="Over how many products does one score of one head sum?",
    source="omihub777/ViT-CIFAR#11; lucidrains/vit-pytorch#65; chelsea0x3b/dfdx#171",
)
def whole_width_scale() -> Iterator[Form]:
    yield layer(factor=lambda x, Q, K, Wk: 1 / math.sqrt(x.shape[-1]))


@in_both(
    "not scaled",
    about="scale",
    told="Your scores are the plain dot products: nothing divides them by the root of the width.",
    question="By what are the scores of a head divided?",
    source="ethen8181/machine-learning#13",
)
def attention_not_scaled() -> Iterator[Form]:
    yield layer(factor=lambda x, Q, K, Wk: 1.0)


@in_both(
    "scaled twice",
    about="scale",
    told=(
        "Your scores are divided by d, not by √d: the root is missing, or the scale is applied "
        "once before scaled_dot_product_attention and once inside it."
    ),
    question="How often is a score divided on its way to the softmax, and by what?",
    source="AI-Hypercomputer/maxtext#1349",
)
def attention_scaled_twice() -> Iterator[Form]:
    yield layer(factor=lambda x, Q, K, Wk: 1 / Q.shape[-1])


@in_both(
    "the root cut off to a whole number",
    about="scale",
    told="Your code cuts √d off (or rounds it) to a whole number. It is right for 4, 9, 16 only.",
    question="What is √3, and what does your code divide by when a head is 3 wide?",
)
def attention_whole_root() -> Iterator[Form]:
    def by(whole: Callable[[float], float]) -> Factor:
        return lambda x, Q, K, Wk: 1 / whole(math.sqrt(Q.shape[-1]))

    yield from (layer(factor=by(whole)) for whole in (math.floor, round, math.ceil))


@in_both(
    "multiplied by the root",
    about="scale",
    told="Your scores are multiplied by √d. They should become smaller, not larger.",
    question="What do you divide by, and is that itself a reciprocal?",
    source="rasbt/LLMs-from-scratch#856",
)
def attention_multiplied() -> Iterator[Form]:
    yield layer(factor=lambda x, Q, K, Wk: math.sqrt(Q.shape[-1]))


@in_both(
    "scale of another size",
    about="scale",
    told=(
        "Your code takes the root of another size than the width of one head: a number of heads or "
        "tokens, the width of all keys together, or a fixed number."
    ),
    question="Over how many products does one score of one head sum?",
    source="tenstorrent/tt-metal#56789; juho-lee/set_transformer#18",
)
def attention_other_size() -> Iterator[Form]:
    sizes: list[Callable[[Array, Array, Array, Array], float]] = [
        lambda x, Q, K, Wk: Q.shape[1],
        lambda x, Q, K, Wk: Q.shape[2],
        lambda x, Q, K, Wk: x.shape[-1] * Q.shape[-1],
        lambda x, Q, K, Wk: 64,
        lambda x, Q, K, Wk: 4,
        lambda x, Q, K, Wk: Q.shape[1] ** 2,
        lambda x, Q, K, Wk: x.shape[-1] ** 2,
    ]

    def by(size: Callable[[Array, Array, Array, Array], float]) -> Factor:
        return lambda x, Q, K, Wk: size(x, Q, K, Wk) ** -0.5

    yield from (layer(factor=by(size)) for size in sizes)


@misconception(
    "grouped_query_attention",
    "scaled by the width of all keys",
    about="scale",
    told=(
        "Your scale comes from the width of x @ Wk, or from the number of key/value heads or the "
        "size of a group. However many heads share keys, a score is a dot product as wide as a "
        "head."
    ),
    question="Over how many products does one score of one head sum?",
    source="NVIDIA/Model-Optimizer#2482",
)
def scaled_by_all_keys() -> Iterator[Form]:
    sizes: list[Callable[[Array, Array, Array], float]] = [
        lambda x, Q, Wk: Wk.shape[1],
        lambda x, Q, Wk: Wk.shape[1] / Q.shape[-1],
        lambda x, Q, Wk: x.shape[-1] / Wk.shape[1],
        lambda x, Q, Wk: x.shape[-1] * Q.shape[-1] / Wk.shape[1],
    ]

    def by(size: Callable[[Array, Array, Array], float]) -> Factor:
        return lambda x, Q, K, Wk: size(x, Q, Wk) ** -0.5

    yield from (layer(factor=by(size)) for size in sizes)


# --- both attentions: masks -------------------------------------------------------------------


@in_both(
    "one mask for each head",
    about=EVERY_MASK,
    told=(
        "Your code lets a mask with three axes meet scores with four as it is. NumPy lines shapes "
        "up from the right, so the first axis of the mask meets the heads, not the items: with as "
        "many items as heads nothing crashes, and head 0 of every item gets the mask of item 0."
    ),
    question="Which shape must a mask of shape (B, S, S) have to meet scores (B, H, S, S)?",
    source="hyunwoongko/transformer#32; ml-explore/mlx-lm#1903",
)
def mask_for_each_head() -> Iterator[Form]:
    for soften in (lesson_03.soft, lesson_03.naive):
        for hide in (lesson_03.INFINITY, lesson_03.filled(-1e9)):
            yield layer(fit=lambda mask, scores: mask, hide=hide, soften=soften)
            yield layer(
                fit=lambda mask, scores: mask[None] if mask.ndim == 3 else mask,
                hide=hide,
                soften=soften,
            )

    def only_where_it_must(mask: Array, scores: Array) -> Array:
        plain = mask.ndim == 3 and len(mask) == scores.shape[1]
        return mask if plain else item_by_item(mask, scores)

    yield layer(fit=only_where_it_must)


@misconception(
    "grouped_query_attention",
    "one mask for each key/value head",
    about="mask",
    told=(
        "Your scores have an axis for the key/value heads and one for the heads of a group. The "
        "mask then lacks two axes, and not one: as it is, its items meet the key/value heads."
    ),
    question="Which shape must a mask of shape (B, S, S) have to meet five axes?",
    source="ml-explore/mlx-lm#1903",
)
def mask_for_each_kv_head() -> Iterator[Form]:
    def by_kv_head(
        x: Array, Wq: Array, Wk: Array, Wv: Array, Wo: Array,
        n_heads: int, n_kv_heads: int, mask: Array | None = None,
    ) -> Any:  # fmt: skip
        if mask is not None and mask.ndim == 3:
            items = np.broadcast_to(mask, (n_kv_heads, *mask.shape[1:]))
            mask = np.repeat(items, n_heads // n_kv_heads, axis=0)[None]
        return layer()(x, Wq, Wk, Wv, Wo, n_heads, n_kv_heads, mask)

    yield by_kv_head


@in_both(
    "masks of the items in turn",
    about=EVERY_MASK,
    told=(
        "Your code lays the masks of the items end to end, once for each head: item 0, item 1, "
        "item 0, item 1. But with items and heads in one axis, all heads of item 0 come first."
    ),
    question="Which item is row 1 of an axis of length B·H about, when there are two heads?",
    source="line/lighthouse#77; ArrowLuo/CLIP4Clip#22",
)
def masks_in_turn() -> Iterator[Form]:
    def tiled(mask: Array, scores: Array) -> Array:
        if mask.ndim != 3:
            return mask
        B, H, _, S = scores.shape
        return np.tile(mask, (H, 1, 1)).reshape(B, H, mask.shape[1], S)

    yield layer(fit=tiled)
    yield layer(fit=tiled, soften=lesson_03.naive)


@in_both(
    "padding queries masked too",
    about=EVERY_MASK,
    told=(
        "Your code hides the padding tokens as queries as well as keys. Their rows become zeros, "
        "or NaN; nothing reads them, and the mask does not say so."
    ),
    question="A mask of shape (B, 1, S) has one row. For which queries does it hold?",
    source="pytorch/pytorch#63271; Kyubyong/transformer#3",
)
def padding_queries() -> Iterator[Form]:
    def both(mask: Array, scores: Array) -> Array:
        fitted = item_by_item(mask, scores)
        return fitted & np.swapaxes(fitted, -1, -2) if fitted.shape[-2] == 1 else fitted

    for soften in (lesson_03.soft, lesson_03.naive):
        yield layer(fit=both, soften=soften)
    yield layer(fit=both, hide=lesson_03.filled(-1e9))


@in_both(
    "True hides",
    about=EVERY_MASK,
    told="Your code hides where the mask is True. In this course True means: may attend.",
    question="Under a causal mask, what does your query 0 look at?",
    source="pytorch/pytorch#92554",
)
def attention_true_hides() -> Iterator[Form]:
    for soften in (lesson_03.soft, lesson_03.naive):
        for hide in (lesson_03.INFINITY, lesson_03.filled(-1e9)):
            yield layer(fit=lambda m, s: ~item_by_item(m, s), soften=soften, hide=hide)


@in_both(
    "mask without effect",
    about=EVERY_MASK,
    told="Your result is the same with a mask as without one.",
    question="Where does the mask go in, and what happens to what comes out there?",
)
def mask_ignored() -> Iterator[Form]:
    yield layer(hide=lambda scores, mask: scores)

    def of_two_axes(scores: Array, mask: Array) -> Array:
        return lesson_03.INFINITY(scores, mask) if mask.ndim == 2 else scores

    def of_three_axes(mask: Array, scores: Array) -> Array:
        return np.ones_like(mask) if mask.ndim == 4 else item_by_item(mask, scores)

    yield layer(fit=lambda mask, scores: mask, hide=of_two_axes)
    yield layer(fit=of_three_axes)


@in_both(
    "mask added as a number",
    about=EVERY_MASK,
    told=(
        "Your code adds the mask to the scores, or multiplies them by it. True and False count as "
        "1 and 0 there, which hides nothing."
    ),
    question="What is the exponential of a score that has become 0?",
)
def mask_as_number() -> Iterator[Form]:
    yield layer(hide=lambda scores, mask: scores + mask)
    yield layer(hide=lambda scores, mask: scores * mask)
    yield layer(hide=lambda scores, mask: np.where(mask, scores, 0.0))


@in_both(
    "mask transposed",
    about=EVERY_MASK,
    told="Your code exchanges queries and keys in the mask.",
    question="Which axis of the mask belongs to the queries?",
)
def mask_transposed() -> Iterator[Form]:
    yield layer(fit=lambda m, s: np.swapaxes(item_by_item(m, s), -1, -2))


@in_both(
    "the first item's mask for all",
    about=EVERY_MASK,
    told="Your code takes the mask of the first item for the whole batch.",
    question="Where does the mask of the second item come into your code?",
    source="meta-pytorch/attention-gym#98",
)
def first_items_mask() -> Iterator[Form]:
    yield layer(fit=lambda m, s: item_by_item(m[:1] if m.ndim > 2 else m, s))


@in_both(
    "the first head's mask for all",
    about=EVERY_MASK,
    told="Your code takes one mask for all heads, where a mask with four axes has one for each.",
    question="What does your code do with the second axis of a mask of shape (B, H, S, S)?",
)
def first_heads_mask() -> Iterator[Form]:
    def one_of(choose: Callable[[Array], Any]) -> Fit:
        def fit(mask: Array, scores: Array) -> Array:
            return choose(mask) if mask.ndim == 4 else item_by_item(mask, scores)

        return fit

    yield layer(fit=one_of(lambda mask: mask[:, :1]))
    yield layer(fit=one_of(lambda mask: mask[:, -1:]))
    yield layer(fit=one_of(lambda mask: mask.any(axis=1, keepdims=True)))
    yield layer(fit=one_of(lambda mask: mask.all(axis=1, keepdims=True)))


@in_both(
    "one shape of mask assumed",
    about=EVERY_MASK,
    told=(
        "Your code makes axes for one shape of mask, whichever comes. The others then meet the "
        "wrong axes of the scores, or too many."
    ),
    question="How many axes can a mask have here, and which of these cases needs a new one?",
)
def one_shape() -> Iterator[Form]:
    yield layer(fit=lambda m, s: m[:, None])
    yield layer(fit=lambda m, s: m[None, None])
    yield layer(fit=lambda m, s: m[:, None] if m.ndim > 2 else m)
    yield layer(fit=lambda m, s: m[:, None, None] if m.ndim == 3 else m)
    yield layer(fit=lambda m, s: m[:, :, None] if m.ndim == 3 else m)
    yield layer(fit=lambda m, s: m.reshape(len(m), 1, 1, -1))

    def strictly(y: Array) -> Array:
        _, _, _, _ = y.shape  # with five axes this raises, where a reshape would go on
        return merge(y)

    yield layer(fit=lambda m, s: m[:, None], join=strictly)
    yield layer(fit=lambda m, s: m[None, None], join=strictly)


@in_both(
    "always causal",
    about=f"{HEADS} output scale {EVERY_MASK}",
    told="Your code hides later tokens by itself, whatever mask is given.",
    question="Without a mask, which tokens may token 0 see?",
)
def always_causal() -> Iterator[Form]:
    def causal_softmax(scores: Array) -> Array:
        past = np.tri(scores.shape[-2], scores.shape[-1], dtype=bool)
        return lesson_03.soft(np.where(past, scores, -np.inf))

    yield layer(soften=causal_softmax)


@in_both(
    "masked after the softmax",
    about=EVERY_MASK,
    told=(
        "Your code sets weights to 0 after the softmax. What the hidden tokens took is then gone: "
        "the rest no longer sums to 1."
    ),
    question="Over which tokens does the softmax share the 1, and which have a part in it?",
)
def masked_afterwards() -> Iterator[Form]:
    def afterwards(
        x: Array, Wq: Array, Wk: Array, Wv: Array, Wo: Array,
        n_heads: int, n_kv_heads: int, mask: Array | None = None,
    ) -> Any:  # fmt: skip
        def cut_off(weights: Array, V: Array) -> Array:
            hidden = weights if mask is None else weights * item_by_item(mask, weights)
            return hidden @ V

        return layer(mix=cut_off)(x, Wq, Wk, Wv, Wo, n_heads, n_kv_heads)

    yield afterwards


@in_both(
    "NaN where nothing may be seen",
    about="mask empty",
    told=(
        "A query that may see nothing has −∞ for every score. In your code the maximum is "
        "subtracted from these, or a sum of 0 divides, and NaN comes out."
    ),
    question="What does `scaled_dot_product_attention` of lesson 3 give for such a query?",
)
def nan_where_nothing() -> Iterator[Form]:
    yield layer(soften=lesson_03.naive)
    yield layer(soften=lesson_03.naive, hide=lesson_03.lowered(-np.inf))


@in_both(
    "all alike where nothing may be seen",
    about="mask empty",
    told=(
        "A query that may see nothing looks at every token alike in your code: a large negative "
        "number in place of −∞ is the same for all, so the softmax shares the 1 evenly."
    ),
    question="What must such a query give, and which score would make its exponentials 0?",
)
def alike_where_nothing() -> Iterator[Form]:
    for fill in (-1e9, -1e10, -1e4, float(np.finfo(np.float32).min)):
        yield layer(hide=lesson_03.filled(fill))
        yield layer(hide=lesson_03.lowered(fill))


# --- both attentions: what comes in -----------------------------------------------------------


@in_both(
    "a result of x's type",
    about="kinds",
    told=(
        "Your code writes its result into an array of x's own type. When x holds whole numbers "
        "the digits are cut off."
    ),
    question="Which dtype has `np.zeros_like(x)` when x holds integers?",
)
def type_of_x() -> Iterator[Form]:
    yield layer(finish=lambda y, x, Wo: (y @ Wo).astype(x.dtype))
    yield layer(finish=lambda y, x, Wo: y.astype(x.dtype) @ Wo)


@in_both(
    "matrices overwritten",
    about="kinds",
    told="Your code scales a matrix in place: `/=` and `*=` write into the caller's own array.",
    question="What happens to the caller's Wq when your function is called twice?",
)
def matrices_overwritten() -> Iterator[Form]:
    def scaled_in_place(which: int, by: Callable[[Array, float], None]) -> Form:
        def form(x: Array, *given: Any) -> Any:
            root_of_width = math.sqrt(x.shape[-1] // given[4])
            by(given[which], root_of_width)
            return layer(factor=lambda *parts: 1.0)(x, *given)

        return form

    def divide(W: Array, number: float) -> None:
        W /= number

    def multiply(W: Array, number: float) -> None:
        W *= 1 / number

    for which in (0, 1):
        yield scaled_in_place(which, divide)
        yield scaled_in_place(which, multiply)


@in_both(
    "axes of length 1 lost",
    about=f"{HEADS} output scale kinds {EVERY_MASK}",
    told="Your result loses an axis when there is one item, or one token, only.",
    question="Which function in your code drops axes, and is it needed?",
)
def squeezed() -> Iterator[Form]:
    yield layer(finish=lambda y, x, Wo: np.squeeze(y @ Wo))
    yield layer(finish=lambda y, x, Wo: (y @ Wo)[0] if len(x) == 1 else y @ Wo)


@in_both(
    "the first item only",
    about=f"{HEADS} output kinds {EVERY_MASK}",
    told="Your code looks at the first item of the batch, and gives its result for all.",
    question="What becomes of x[1] in your code?",
)
def first_item_only() -> Iterator[Form]:
    def first(y: Array, x: Array, Wo: Array) -> Array:
        return np.repeat(y[:1] @ Wo, len(x), axis=0)

    yield layer(finish=first)
    yield layer(finish=lambda y, x, Wo: y[:1] @ Wo)
    yield layer(finish=lambda y, x, Wo: y[0] @ Wo)


# --- grouped-query attention: the groups ------------------------------------------------------


def tiled(t: Array, n_heads: int) -> Array:
    """Key/value heads 0, 1, 0, 1 … instead of 0, 0, 1, 1 …"""
    return np.tile(t, (1, n_heads // t.shape[1], 1, 1))


def picked(index: Callable[[Array, int, int], Array]) -> Share:
    """The key/value head of each head by another rule of (head, heads, key/value heads)."""
    return lambda t, n: t[:, index(np.arange(n), n, t.shape[1])]


@misconception(
    "grouped_query_attention",
    "key/value heads in turn",
    about="groups output scale mask",
    told=(
        "Your code lines the key/value heads up in turn: 0, 1, 0, 1 and so on. So neighbouring "
        "heads read different ones. A group is a run of neighbouring heads."
    ),
    question="Which key/value head does your head 1 read, and which should it?",
    source="onnx/onnx#7274; vllm-project/vllm-ascend#2758",
)
def in_turn() -> Iterator[Form]:
    yield layer(share=tiled)
    yield layer(share=picked(lambda head, n, kv: head % kv))
    yield layer(share=tiled, share_values=repeated)
    yield layer(share=repeated, share_values=tiled)


@misconception(
    "grouped_query_attention",
    "divided by the number of key/value heads",
    about="groups output scale mask",
    told=(
        "Your code finds the key/value head by dividing by the number of key/value heads. Divide "
        "by the size of a group instead: the two are the same only where they happen to be equal."
    ),
    question="With 6 heads over 2: how many heads share one, and which one does head 2 read?",
    source="PSAL-POSTECH/ONNXim#34; HazyResearch/HipKittens#22",
)
def divided_by_kv() -> Iterator[Form]:
    yield layer(share=picked(lambda head, n, kv: np.minimum(head // kv, kv - 1)))
    yield layer(share=picked(lambda head, n, kv: (head // kv) % kv))
    yield layer(share=picked(lambda head, n, kv: head // kv))
    yield layer(share=picked(lambda head, n, kv: head % (n // kv)))
    yield layer(share=picked(lambda head, n, kv: np.minimum(head % (n // kv), kv - 1)))


@misconception(
    "grouped_query_attention",
    "one key/value head for all",
    about="groups ends output scale mask",
    told="All your heads read the same key/value head; the others have no effect.",
    question="If the last columns of Wk change, does your result?",
)
def one_for_all() -> Iterator[Form]:
    yield layer(share=lambda t, n: np.repeat(t[:, :1], n, axis=1))
    yield layer(share=lambda t, n: np.repeat(t[:, -1:], n, axis=1))
    yield layer(share=lambda t, n: np.repeat(t.mean(axis=1, keepdims=True), n, axis=1))


@misconception(
    "grouped_query_attention",
    "tokens repeated instead of heads",
    about="groups ends output scale mask",
    told=(
        "Your code repeats keys and values along the tokens instead of the heads. With one "
        "key/value head each token then counts several times, which changes nothing until there "
        "is a mask; with more heads the shapes no longer fit."
    ),
    question="Which of the axes (B, H, S, d) must become longer?",
    source="PrimeIntellect-ai/prime-rl#2681; ByteDance-Seed/VeOmni#162",
)
def tokens_repeated() -> Iterator[Form]:
    yield layer(share=lambda t, n: np.repeat(t, n // t.shape[1], axis=2))
    yield layer(share=lambda t, n: np.tile(t, (1, 1, n // t.shape[1], 1)))


@misconception(
    "grouped_query_attention",
    "columns repeated before they are split",
    about="groups ends output scale mask",
    told=(
        "Your code repeats the columns of x @ Wk one by one, before it cuts them into heads. A "
        "head is then filled with copies of a few columns. Repeat whole heads."
    ),
    question="At which moment is a key/value head one unit that can be repeated?",
)
def columns_repeated() -> Iterator[Form]:
    def one_by_one(x: Array, Wq: Array, Wk: Array, Wv: Array, n: int, kv: int) -> Any:
        return x @ Wq, *(np.repeat(x @ W, n // kv, axis=-1) for W in (Wk, Wv))

    def split_to_all(t: Array, n: int) -> Array:
        return t

    def repeated_columns(
        x: Array, Wq: Array, Wk: Array, Wv: Array, Wo: Array,
        n_heads: int, n_kv_heads: int, mask: Array | None = None,
    ) -> Any:  # fmt: skip
        Q, K, V = one_by_one(x, Wq, Wk, Wv, n_heads, n_kv_heads)
        whole = layer(project=lambda *given: (Q, K, V), share=split_to_all)
        return whole(x, Wq, Wk, Wv, Wo, n_heads, n_heads, mask)

    yield repeated_columns


@misconception(
    "grouped_query_attention",
    "keys and queries do not fit",
    about="groups ends output scale mask kinds",
    told=(
        "Your keys and values do not come out as heads that fit those of the queries. The "
        "n_kv_heads heads of x @ Wk are as wide as a query head, and each must appear several "
        "times, along the axis of the heads and no other."
    ),
    question="Which shape have your queries and your keys just before they meet?",
)
def not_shared() -> Iterator[Form]:
    def as_many(
        x: Array, Wq: Array, Wk: Array, Wv: Array, Wo: Array,
        n_heads: int, n_kv_heads: int, mask: Array | None = None,
    ) -> Any:  # fmt: skip
        return layer(share=lambda t, n: t)(x, Wq, Wk, Wv, Wo, n_heads, n_heads, mask)

    yield as_many
    yield layer(share=lambda t, n: t)
    yield layer(share=lambda t, n: np.repeat(t, n // t.shape[1]))
    yield layer(share=lambda t, n: np.repeat(t, n // t.shape[1], axis=0))
    yield layer(share=lambda t, n: np.repeat(t, n // t.shape[1], axis=3))


@misconception(
    "grouped_query_attention",
    "repeated as often as there are key/value heads",
    about="groups ends output scale mask",
    told=(
        "Your code repeats keys and values n_kv_heads times. A key/value head must appear once for "
        "each head of its group, and the two numbers are the same only by accident."
    ),
    question="With 6 heads over 2: how often must each key/value head appear to make 6?",
)
def repeated_kv_times() -> Iterator[Form]:
    yield layer(share=lambda t, n: np.repeat(t, t.shape[1], axis=1))
    yield layer(share=lambda t, n: np.tile(t, (1, t.shape[1], 1, 1)))
    yield layer(share=lambda t, n: np.repeat(t, n, axis=1))


@misconception(
    "grouped_query_attention",
    "groups merged in another order",
    about="groups ends output",
    told=(
        "Your code computes every head right, and then lines them up group by group in another "
        "order: first the first head of each group, then the second of each."
    ),
    question="Heads 0, 1, 2 are group 0: which columns of the merged result are theirs?",
)
def groups_in_another_order() -> Iterator[Form]:
    def reordered(
        x: Array, Wq: Array, Wk: Array, Wv: Array, Wo: Array,
        n_heads: int, n_kv_heads: int, mask: Array | None = None,
    ) -> Any:  # fmt: skip
        order = np.arange(n_heads).reshape(n_kv_heads, -1).T.ravel()
        whole = layer(join=lambda y: merge(y[:, order]))
        return whole(x, Wq, Wk, Wv, Wo, n_heads, n_kv_heads, mask)

    yield reordered


@misconception(
    "grouped_query_attention",
    "queries grouped in turn",
    about="groups",
    told=(
        "Your code reshapes the queries so that neighbouring heads land in different groups, and "
        "merges them in that order."
    ),
    question="Which key/value head does your head 1 read, and where does its output end up?",
)
def queries_in_turn() -> Iterator[Form]:
    def regrouped(
        x: Array, Wq: Array, Wk: Array, Wv: Array, Wo: Array,
        n_heads: int, n_kv_heads: int, mask: Array | None = None,
    ) -> Any:  # fmt: skip
        order = np.arange(n_heads).reshape(-1, n_kv_heads).T.ravel()
        d = x.shape[-1] // n_heads

        def join(y: Array) -> Array:
            return merge(y)

        columns = (order[:, None] * d + np.arange(d)).ravel()
        return layer(join=join)(x, Wq[:, columns], Wk, Wv, Wo, n_heads, n_kv_heads, mask)

    yield regrouped
