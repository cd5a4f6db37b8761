"""Lesson 05: what splitting and merging heads, multi-head and grouped-query attention must do.

Expected values come from the oracle or from algebra; no check relies on another."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grader import oracle
from grader.checks.ask import FLOAT32, FLOAT64, Answer, Tolerance, asking, passed
from grader.checks.diagnose import graded
from grader.checks.shrink import on_smallest
from grader.misconceptions import multi_head as _named  # noqa: F401  (registers them)
from grader.seeds import generator

Array = np.ndarray

ask_split = asking("split_heads")
ask_merge = asking("merge_heads")
ask = asking("multi_head_attention")
ask_grouped = asking("grouped_query_attention")

TOKENS = np.array([[[0, 1, 2, 3], [10, 11, 12, 13], [20, 21, 22, 23]]])
# Two items, by which mistakes are told apart that look alike in a single one.
TWO_ITEMS = np.arange(24).reshape(2, 3, 4)
TWO_ITEMS_SPLIT = np.arange(24).reshape(2, 2, 3, 2)
WHY_SPLIT = "Head 0 is the first columns of every token, head 1 the next ones, and so on."
WHY_MERGE = "Each row of the result belongs to one token: its head 0, then its head 1, and so on."
WHY_CAST = "Expected is what the same numbers give as an ordinary float64 array."

# --- split_heads ------------------------------------------------------------------------------


@graded("split_heads", about="order", also=((TWO_ITEMS, 2),))
def split_by_hand(split_heads: Any) -> None:
    """Three numbered tokens, two heads."""
    _must_split(split_heads, TOKENS, 2, f"{WHY_SPLIT} The tens count the tokens.")
    seen = _must_split(split_heads, TOKENS[:, :2] + _any_hundred("split_by_hand"), 4, WHY_SPLIT)
    passed("split_heads gives each head its columns of every token", seen)


@graded("split_heads", about="batch")
def split_any(split_heads: Any) -> None:
    """Several items, sizes that all differ, sizes of 1, and arrays of every kind."""
    for shape in ((2, 5, 3, 4), (3, 2, 4, 1), (2, 3, 1, 2), (1, 1, 2, 3), (2, 1, 2, 2)):

        def judge(heads: Array) -> Answer:
            items, length, n_heads, _ = heads.shape
            return _must_split(split_heads, heads.reshape(items, length, -1), n_heads, WHY_SPLIT)

        on_smallest(judge, _numbers("split", shape))
    for x in _of_every_kind(_numbers("split kinds", (2, 3, 4))):
        seen = _must_split(split_heads, x, 2, WHY_SPLIT)
        seen.must_not_change()
    passed("split_heads works for any sizes and kinds of arrays, and leaves x alone", seen)


def _must_split(split_heads: Any, x: Array, n_heads: int, why: str) -> Answer:
    seen = ask_split(split_heads, x, n_heads)
    expected = oracle.split_heads(x, n_heads).astype(x.dtype)
    seen.must_equal(seen.must_be_array(expected.shape), expected, "wrong order", why)
    return seen


# --- merge_heads ------------------------------------------------------------------------------


@graded("merge_heads", about="order", also=((TWO_ITEMS_SPLIT,),))
def merge_by_hand(merge_heads: Any) -> None:
    """The three numbered tokens back from their two heads."""
    heads = oracle.split_heads(TOKENS, 2).astype(np.int64)
    _must_merge(merge_heads, heads, f"{WHY_MERGE} The tens count the tokens.")
    seen = _must_merge(merge_heads, heads[:, :, :1] + _any_hundred("merge_by_hand"), WHY_MERGE)
    passed("merge_heads puts the heads of each token side by side", seen)


@graded("merge_heads", about="batch")
def merge_any(merge_heads: Any) -> None:
    """Several items, as many items as heads too, sizes of 1, and arrays of every kind."""
    for shape in ((2, 3, 5, 4), (3, 4, 2, 1), (2, 2, 3, 1), (2, 1, 3, 2), (1, 2, 1, 3)):
        on_smallest(
            lambda heads: _must_merge(merge_heads, heads, WHY_MERGE), _numbers("merge", shape)
        )
    for heads in _of_every_kind(_numbers("merge kinds", (2, 3, 2, 4))):
        seen = _must_merge(merge_heads, heads, WHY_MERGE)
        seen.must_not_change()
    passed("merge_heads works for any sizes and kinds of arrays, and leaves them alone", seen)


def _must_merge(merge_heads: Any, heads: Array, why: str) -> Answer:
    seen = ask_merge(merge_heads, heads)
    expected = oracle.merge_heads(heads).astype(heads.dtype)
    seen.must_equal(seen.must_be_array(expected.shape), expected, "wrong order", why)
    return seen


# --- split and merge, shared ------------------------------------------------------------------


def _any_hundred(name: str) -> int:
    """What numbered tokens are moved up by, so that nobody knows the numbers."""
    return 100 * int(generator(name).integers(1, 100))


def _numbers(name: str, shape: Sequence[int]) -> Array:
    """Random numbers with two decimals, so that a failing call is short to read."""
    return generator(f"{name}{shape}").normal(0.0, 1.0, shape).round(2) + 0.0  # no −0.0


def _of_every_kind(array: Array) -> Iterator[Array]:
    """The same as whole numbers, in float32, not contiguous, and not to be written to."""
    yield np.round(2 * array).astype(np.int64)
    yield array.astype(np.float32)
    yield np.repeat(array, 2, axis=-1)[..., ::2]
    yield np.swapaxes(np.ascontiguousarray(np.swapaxes(array, 1, -1)), 1, -1)
    locked = array.copy()
    locked.flags.writeable = False
    yield locked


# --- the layers that the two attentions are asked with ----------------------------------------


@dataclass(frozen=True)
class Layer:
    """The matrices of one layer and its numbers of heads; without `n_kv_heads` it is multi-head."""

    Wq: Array
    Wk: Array
    Wv: Array
    Wo: Array
    n_heads: int
    n_kv_heads: int | None = None

    @property
    def matrices(self) -> tuple[Array, Array, Array, Array]:
        """In the order of the arguments."""
        return self.Wq, self.Wk, self.Wv, self.Wo

    @property
    def heads(self) -> tuple[int, ...]:
        """In the order of the arguments."""
        return (self.n_heads,) if self.n_kv_heads is None else (self.n_heads, self.n_kv_heads)

    @property
    def kv_heads(self) -> int:
        """How many heads have keys and values of their own."""
        return self.n_heads if self.n_kv_heads is None else self.n_kv_heads

    @property
    def d(self) -> int:
        """The width of a head."""
        return len(self.Wq) // self.n_heads

    def expected(self, x: Array, mask: Array | None = None, scale: float | None = None) -> Array:
        """What the oracle gives."""
        return oracle.grouped_query_attention(
            x, *self.matrices, self.n_heads, self.kv_heads, mask, scale
        )


Sizes = tuple[int, ...]  # width of a head, heads, perhaps key/value heads


def _layer(name: str, sizes: Sizes) -> Layer:
    """Matrices of −1, 0 and 1: short to read, and scores of ordinary size."""
    d, n_heads, *kv = sizes
    narrow = d * (kv[0] if kv else n_heads)
    shapes = {"q": d * n_heads, "k": narrow, "v": narrow, "o": d * n_heads}
    Wq, Wk, Wv, Wo = (
        generator(f"{name}{sizes}{letter}").integers(-1, 2, (d * n_heads, columns)) + 0.0
        for letter, columns in shapes.items()
    )
    return Layer(Wq, Wk, Wv, Wo, n_heads, *kv)


def _not_mixed(layer: Layer) -> Layer:
    """The layer with a Wo that changes nothing: mistakes with Wo have a cell of their own."""
    return replace(layer, Wo=np.eye(len(layer.Wo)))


def _inputs(name: str, items: int, length: int, layer: Layer) -> Array:
    return _numbers(f"{name} x {layer.heads}", (items, length, len(layer.Wq)))


def _mixed(name: str, sizes: Sizes) -> tuple[Array, Layer]:
    """Inputs for two items of three tokens, and a layer whose Wo mixes.

    Nothing in the values is negative: where heads cancel, honest rounding would count as a mistake.
    """
    layer = _layer(name, sizes)
    layer = replace(layer, Wv=np.abs(layer.Wv), Wo=np.abs(layer.Wo))
    return np.abs(_inputs(name, 2, 3, layer)), layer


def _asked(
    attention: Any, x: Array, layer: Layer, mask: Array | None = None, note: str = ""
) -> Answer:
    """One call; the mask is passed only where there is one."""
    given = {} if mask is None else {"mask": mask}
    if layer.n_kv_heads is None:
        return ask(attention, x, *layer.matrices, layer.n_heads, note=note, **given)
    heads = (layer.n_heads, layer.n_kv_heads)
    return ask_grouped(attention, x, *layer.matrices, *heads, note=note, **given)


def _call(name: str, items: int, sizes: Sizes, mask: Array | None = None) -> tuple[Any, ...]:
    """The arguments of a call with an identity for Wo, and with a mask if there is one."""
    layer = _not_mixed(_layer(name, sizes))
    given = () if mask is None else (mask,)
    x = _inputs(name, items, 2, layer)
    return (x, *layer.matrices, *layer.heads, *given)


# Calls by which mistakes are told apart that fail alike in a cell: without a mask, and with a mask
# for each item, when there are as many items as heads and when there are not; for grouped-query
# attention also with all groups of one head, and with a single group.
_FULL, _EACH = np.ones((2, 2), dtype=bool), np.eye(2, dtype=bool)
PLAIN = _call("telling", 2, (2, 3))
TELLING = (
    PLAIN,
    _call("telling", 2, (2, 2), np.stack([_FULL, _EACH])),
    _call("telling", 3, (2, 2), np.stack([_EACH, _FULL, _EACH])),
)
GROUPED = (
    _call("telling", 2, (1, 6, 2)),
    _call("telling", 2, (2, 2, 2)),
    _call("telling", 2, (2, 2, 1), oracle.causal_mask(2)),
)
GROUPED_TELLING = (
    *GROUPED,
    _call("telling", 2, (2, 2, 1), np.stack([_FULL, _EACH])),
    _call("telling", 3, (2, 2, 1), np.stack([_EACH, _FULL, _EACH])),
)

# --- multi_head_attention ---------------------------------------------------------------------
# Only `output` asks for Wo, only `scale` for how scores are scaled; the cells about masks read
# weights off the output. Where one head will do there is one, so that who splits or merges wrongly
# loses only the points of the heads.

WHY_HEADS = (
    "Each head is an attention of its own: its columns of x @ Wq, x @ Wk and x @ Wv, and a softmax "
    "of its own. The outputs stand side by side."
)
NO_WO = "(Wo is the identity here.)"
WHY_OUTPUT = (
    "Wq is zero here, so the one head gives every query the mean of its values, which is then "
    "multiplied by Wo from the right."
)


@graded("multi_head_attention", about="heads", also=(PLAIN,))
def heads(multi_head_attention: Any) -> None:
    """Heads computed one by one and set side by side give the same, whatever the scale."""
    x = np.array([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]])
    by_hand = Layer(np.eye(2), np.log(3) * np.eye(2), np.eye(2), np.eye(2), 2)
    why = (
        "Head 0 has column 0 as queries and values. Its query 0 scores 0 for token 1 and ln 3 for "
        "the others, its query 1 scores 0 for all. Head 1 is the same for column 1."
    )
    _must_have_heads(multi_head_attention, x, by_hand, why)
    for items, length, sizes in ((1, 2, (1, 2)), (2, 4, (3, 2)), (2, 3, (2, 3)), (3, 2, (5, 1))):
        layer = _not_mixed(_layer("heads", sizes))
        x = _inputs("heads", items, length, layer)
        seen = _on_smallest_x(multi_head_attention, x, layer, f"{WHY_HEADS} {NO_WO}")
    seen = _on_smallest_x(multi_head_attention, *_mixed("heads", (3, 2)), WHY_HEADS)
    passed("each head attends by itself, and the outputs stand side by side", seen)


@graded("multi_head_attention", about="output", also=(PLAIN,))
def output(multi_head_attention: Any) -> None:
    """The mean of the values, times Wo."""
    _must_project(multi_head_attention, "output", ((2, 1), (3, 1), (5, 1)))
    passed("multi_head_attention multiplies what the heads found by Wo")


@graded("multi_head_attention", about="scale", also=(PLAIN,))
def scale(multi_head_attention: Any) -> None:
    """How far apart two scores are, in heads of several widths."""
    _must_scale(multi_head_attention, "scale", ((3, 1), (1, 2), (3, 2), (2, 3), (5, 1)))
    passed("the scores are scaled by 1/√d, the width of one head")


@graded("multi_head_attention", about="mask", also=TELLING)
def mask(multi_head_attention: Any) -> None:
    """One head; (S, S) for all, (B, 1, S) and (B, S, S) one for each item."""
    _must_hide(multi_head_attention, 1, oracle.causal_mask(2), 1)
    _must_hide(multi_head_attention, 2, oracle.causal_mask(3), 1)
    _must_hide(multi_head_attention, 3, oracle.padding_mask([2, 1, 2], 2), 1)
    _must_hide(multi_head_attention, 2, _drawn_mask("mask", (2, 3, 3)), 1)
    causal = oracle.causal_mask(2) & oracle.padding_mask([2, 1, 2], 2)
    _must_hide(multi_head_attention, 3, causal, 1)
    passed("masks of shape (S, S), (B, 1, S) and (B, S, S) hide what they should")


@graded("multi_head_attention", about="items", also=TELLING)
def mask_items(multi_head_attention: Any) -> None:
    """Several heads: a mask with three axes is one for each item, as many items as heads or not."""
    _must_hide(multi_head_attention, 2, np.stack([np.eye(2), np.ones((2, 2))]) > 0, 2)
    _must_hide(multi_head_attention, 3, oracle.padding_mask([2, 1, 2], 2), 2)
    _must_hide(multi_head_attention, 2, oracle.padding_mask([1, 3], 3), 2)
    _must_hide(multi_head_attention, 3, _drawn_mask("items", (3, 2, 2)), 3)
    _must_hide(multi_head_attention, 2, oracle.causal_mask(2), 3)
    passed("with several heads, a 3-D mask is one for each item and all its heads")


@graded("multi_head_attention", about="tables", also=TELLING)
def mask_heads(multi_head_attention: Any) -> None:
    """(B, H, S, S): one mask for each head of each item."""
    _must_hide(multi_head_attention, 1, _drawn_mask("one item", (1, 2, 2, 2)), 2)
    _must_hide(multi_head_attention, 3, _drawn_mask("three items", (3, 2, 2, 2)), 2)
    _must_hide(multi_head_attention, 2, _drawn_mask("as many", (2, 2, 3, 3)), 2)
    passed("a mask with four axes is one for each head of each item")


@graded("multi_head_attention", about="empty", also=TELLING)
def empty(multi_head_attention: Any) -> None:
    """A query without any key gives zeros in that head, and disturbs nobody."""
    _must_be_empty(multi_head_attention, 1)
    passed("a query that may see nothing gives zeros, and nothing is NaN")


@graded("multi_head_attention", about="kinds", also=(PLAIN,))
def kinds(multi_head_attention: Any) -> None:
    """One item, one token, integers, float32, any layout; the arguments stay as they are."""
    _must_take_all_kinds(multi_head_attention, (3, 1))
    passed("multi_head_attention takes arrays of every kind, and leaves them alone")


# --- grouped_query_attention ------------------------------------------------------------------

WHY_GROUPS = (
    "With {0} heads over {1} key/value heads, {2} neighbouring heads read the same keys and values:"
    " heads 0 to {3} read key/value head 0. (Wo is the identity here.)"
)


@graded("grouped_query_attention", about="groups", also=GROUPED)
def groups(grouped_query_attention: Any) -> None:
    """Four heads over two, six over two and three: head h reads key/value head h // group."""
    for items, length, sizes in (
        (1, 2, (1, 4, 2)),
        (1, 2, (1, 6, 2)),
        (1, 2, (1, 6, 3)),
        (1, 2, (2, 4, 2)),
        (2, 3, (2, 6, 2)),
        (1, 4, (2, 6, 3)),
    ):
        layer = _not_mixed(_layer("groups", sizes))
        group = layer.n_heads // layer.kv_heads
        why = WHY_GROUPS.format(*layer.heads, group, group - 1)
        x = _inputs("groups", items, length, layer)
        seen = _on_smallest_x(grouped_query_attention, x, layer, why)
    passed("neighbouring heads share the keys and values of their group", seen)


@graded("grouped_query_attention", about="ends", also=GROUPED)
def ends(grouped_query_attention: Any) -> None:
    """One key/value head for all, and one for each."""
    for length, sizes in ((2, (2, 3, 1)), (3, (3, 2, 1)), (2, (2, 3, 3)), (3, (3, 2, 2))):
        layer = _not_mixed(_layer("ends", sizes))
        which = "the same key/value head" if layer.kv_heads == 1 else "a key/value head of its own"
        why = f"Each head reads {which} here. {NO_WO}"
        x = _inputs("ends", 2, length, layer)
        seen = _on_smallest_x(grouped_query_attention, x, layer, why)
    mixed = _mixed("ends", (2, 2, 1))
    seen = _on_smallest_x(
        grouped_query_attention, *mixed, "Each head reads the same key/value head."
    )
    passed("it is multi-query attention with one key/value head, multi-head with all", seen)


@graded("grouped_query_attention", about="output", also=GROUPED)
def grouped_output(grouped_query_attention: Any) -> None:
    """The mean of the values, times Wo."""
    _must_project(grouped_query_attention, "grouped", ((2, 1, 1), (3, 1, 1), (5, 1, 1)))
    passed("grouped_query_attention multiplies what the heads found by Wo")


@graded("grouped_query_attention", about="scale", also=GROUPED)
def grouped_scale(grouped_query_attention: Any) -> None:
    """The width of one head, however many heads share keys."""
    sizes = ((3, 1, 1), (1, 2, 1), (1, 2, 2), (3, 2, 1), (2, 4, 2), (5, 1, 1))
    _must_scale(grouped_query_attention, "grouped scale", sizes)
    passed("the scores are scaled by 1/√d, the width of one head")


@graded("grouped_query_attention", about="mask", also=GROUPED_TELLING)
def grouped_mask(grouped_query_attention: Any) -> None:
    """The same shapes of masks, also with as many items as heads or as key/value heads."""
    _must_hide(grouped_query_attention, 1, oracle.causal_mask(2), 2, 1)
    _must_hide(grouped_query_attention, 2, oracle.causal_mask(3), 2, 1)
    _must_hide(grouped_query_attention, 3, oracle.padding_mask([2, 1, 2], 2), 2, 1)
    _must_hide(grouped_query_attention, 2, oracle.padding_mask([1, 2], 2), 2, 1)
    _must_hide(grouped_query_attention, 2, _drawn_mask("grouped items", (2, 2, 2)), 4, 2)
    _must_hide(grouped_query_attention, 3, _drawn_mask("grouped heads", (3, 2, 2, 2)), 2, 1)
    _must_be_empty(grouped_query_attention, 2, 1)
    passed("masks of every shape hide what they should, and nothing is NaN")


@graded("grouped_query_attention", about="kinds", also=GROUPED)
def grouped_kinds(grouped_query_attention: Any) -> None:
    """One item, one token, integers, float32, any layout; the arguments stay as they are."""
    _must_take_all_kinds(grouped_query_attention, (3, 1, 1))
    passed("grouped_query_attention takes arrays of every kind, and leaves them alone")


# --- the attentions, shared -------------------------------------------------------------------


def _on_smallest_x(attention: Any, x: Array, layer: Layer, why: str) -> Answer:
    """Judge with this x; a failure is told with the fewest items, tokens and digits."""

    def judge(x: Array) -> Answer | None:
        fits = x.shape[-1] == len(layer.Wq)  # not when shrinking took a column away
        return _must_have_heads(attention, x, layer, why) if fits else None

    seen = on_smallest(judge, x)
    assert seen is not None
    return seen


def _must_have_heads(attention: Any, x: Array, layer: Layer, why: str) -> Answer:
    """What separate heads give, whatever the scale, and with Wo or without."""
    seen = _asked(attention, x, layer)
    expected = layer.expected(x)
    value = seen.must_be_array(expected.shape)
    seen.must_be_finite(value, why, expected)
    right = bool(FLOAT64.allows(value, expected).all())
    seen.demand(right or _right_otherwise(value, x, layer), "wrong heads", why, expected)
    return seen


def _right_otherwise(value: Array, x: Array, layer: Layer) -> bool:
    """Whether only the scale is wrong, or what is done with Wo: these have their own cells."""
    merged = (_not_mixed(layer).expected(x, scale=factor) for factor in _scales(x, layer))
    uses = (layer.Wo, np.eye(len(layer.Wo)), layer.Wo.T)
    return any(bool(FLOAT64.allows(value, each @ Wo).all()) for each in merged for Wo in uses)


def _scales(x: Array, layer: Layer) -> list[float]:
    """The right scale, none, those of width 4 and 64, and powers of sizes taken for the width."""
    sizes = {*x.shape, layer.Wk.shape[1], *layer.heads, layer.n_heads // layer.kv_heads}
    powers = (size**power for size in sizes - {1, layer.d} for power in (-0.5, -1.0, 0.5))
    return [layer.d**-0.5, 1.0, layer.d**-1.0, layer.d**0.5, 0.5, 0.125, *powers]


def _must_project(attention: Any, name: str, all_sizes: Sequence[Sizes]) -> None:
    """One head, all scores alike: the mean of the values, times Wo."""
    for length, sizes in zip((2, 4, 3), all_sizes, strict=True):
        layer = _layer(name, sizes)
        layer = replace(layer, Wq=np.zeros(layer.Wq.shape))
        x = _inputs(name, 2, length, layer)
        expected = layer.expected(x)
        seen = _asked(attention, x, layer)
        value = seen.must_be_array(expected.shape)
        seen.must_be_finite(value, WHY_OUTPUT, expected)
        seen.must_equal(value, expected, "wrong output", WHY_OUTPUT)


def _must_scale(attention: Any, name: str, all_sizes: Sequence[Sizes]) -> None:
    """Two tokens, whose values are 0 and 1 throughout: each output is the weight of token 1.

    Every query of every head is the same, so that the order of heads and tokens is no matter.
    """
    for sizes in all_sizes:
        layer, apart = _alike(name, sizes)
        x = np.zeros((1, 2, len(layer.Wq)))
        x[:, :, 0] = 1.0
        x[:, 1, 1] = 1.0
        seen = _asked(attention, x, layer)
        value = seen.must_be_array(x.shape)
        why = "The values of the two tokens are 0 and 1, so every output lies between these."
        seen.must_be_finite(value, why)
        seen.demand(bool(((value > 0) & (value < 1)).all()), "not between 0 and 1", why)
        _must_be_apart(seen, value, apart, layer)


def _alike(name: str, sizes: Sizes) -> tuple[Layer, float]:
    """A layer whose heads are all the same, and how far apart the dot products of a query are."""
    layer = _layer(name, sizes)
    keys = generator(f"{name}{sizes} keys").uniform(0.4, 1.2, layer.d).round(2)  # (d,)
    Wq, Wk, Wv = (np.zeros(W.shape) for W in (layer.Wq, layer.Wk, layer.Wv))
    Wq[0] = 1.0
    Wk[1] = np.tile(keys, layer.kv_heads)
    Wv[1] = 1.0
    return _not_mixed(replace(layer, Wq=Wq, Wk=Wk, Wv=Wv)), float(keys.sum())


def _must_be_apart(seen: Answer, value: Array, apart: float, layer: Layer) -> None:
    """Each output is the weight of a token whose score is that much higher than the other's."""
    found = np.log(value / (1 - value))
    expected = apart / np.sqrt(layer.d)
    told = (
        f"A head is {layer.d} wide, and the dot products of a query with the two keys are 0 and "
        f"{apart:.4g}. Scaled, they must lie {expected:.4g} apart; in your output they lie "
        f"{found.flat[0]:.4g} apart."
    )
    fine = np.abs(found - expected) <= 1e-6 * max(1.0, expected)
    seen.demand(bool(fine.all()), "wrong scale", told)


def _drawn_mask(name: str, shape: tuple[int, ...]) -> Array:
    """A random mask, no two of its tables alike, in which every query sees one key at least."""
    length = shape[-1]
    tables = [
        np.array(
            [[number >> (row * length + key) & 1 for key in range(length)] for row in range(length)]
        )
        for number in range(2 ** (length * length))
    ]
    usable = [table > 0 for table in tables if table.any(axis=1).all() and not table.all()]
    count = int(np.prod(shape[:-2]))
    chosen = generator(f"{name}{shape}").choice(len(usable), count, replace=False)
    return np.array([usable[index] for index in chosen]).reshape(shape)


def _shows_weights(name: str, items: int, length: int, *heads: int) -> tuple[Array, Layer]:
    """Inputs and a layer whose output is the weights: column h·S + j has those of key j in head h.

    The first S columns of x say which token it is, and those are the values of every head.
    """
    layer = _layer(name, (length, *heads))
    Wv = np.zeros(layer.Wv.shape)
    Wv[:length] = np.tile(np.eye(length), layer.kv_heads)
    x = (0.4 * _inputs(name, items, length, layer)).round(2)  # small, so that no weight is nearly 0
    x[..., :length] = np.eye(length)
    return x, _not_mixed(replace(layer, Wv=Wv))


def _weights_shown(seen: Answer, x: Array, layer: Layer) -> Array:
    """The weights (B, H, S_q, S_k) in the output of such a layer."""
    value = seen.must_be_array(x.shape)
    why = "The output of a head is a mixture of its values, never NaN."
    seen.must_be_finite(value, why)
    items, length, _ = x.shape
    return np.moveaxis(value.reshape(items, length, layer.n_heads, length), 2, 1)


def _must_hide(attention: Any, items: int, mask: Array, *heads: int) -> None:
    """Weight 0 where the mask says no, more elsewhere, and 1 in every row, whatever the scale."""
    x, layer = _shows_weights("hide", items, mask.shape[-1], *heads)
    seen = _asked(attention, x, layer, mask)
    weights = _weights_shown(seen, x, layer)
    allowed = _allowed(mask, weights.shape)
    where = _first(allowed, np.where(allowed, weights <= 0, np.abs(weights) > 1e-9))
    shown = f"Wv and Wo are such that the output shows the weights, {x.shape[1]} columns a head."
    told = f"{shown} {where}"
    hidden, visible = weights[~allowed], weights[allowed]
    seen.demand(bool((np.abs(hidden) <= 1e-9).all()), "hidden tokens get weight", told)
    seen.demand(bool((visible > 0).all()), "visible tokens get none", told)
    sums = weights.sum(axis=-1)
    why = "The visible tokens of a query share the 1, in each head."
    seen.demand(bool(FLOAT64.allows(sums, np.ones_like(sums)).all()), "sums are not 1", why)


def _allowed(mask: Array, shape: tuple[int, ...]) -> Array:
    """The mask for every head of every item."""
    return np.broadcast_to(mask[:, None] if mask.ndim == 3 else mask, shape)


def _first(allowed: Array, wrong: Array) -> str:
    """The first query at which weights do not fit the mask, in words."""
    if not wrong.any():
        return ""
    item, head, query, _ = map(int, np.argwhere(wrong)[0])
    may = [int(key) for key in np.flatnonzero(allowed[item, head, query])]
    whom = f"the tokens {', '.join(map(str, may))}" if len(may) > 1 else f"token {may[0]}"
    return f"In item {item}, head {head}, query {query} may see {whom} and nothing else."


def _must_be_empty(attention: Any, *heads: int) -> None:
    """Zeros for queries without a key, under a mask for all and under one for each item."""
    whole = np.array([[True, False], [False, False]])
    padding = oracle.padding_mask([2, 0, 1], 2)
    for items, mask in ((1, whole), (3, padding)):
        x, layer = _shows_weights("empty", items, 2, *heads)
        seen = _asked(attention, x, layer, mask)
        weights = _weights_shown(seen, x, layer)
        allowed = _allowed(mask, weights.shape)
        why = (
            "The mask leaves a query without any key. Its output is zeros, since Wo mixes nothing."
        )
        nothing = ~allowed.any(axis=-1)
        seen.demand(bool((np.abs(weights[nothing]) <= 1e-9).all()), "not zeros", why)
        why = "The other queries see their keys as before."
        seen.demand(bool((weights[allowed] > 0).all()), "neighbours disturbed", why)


def _must_take_all_kinds(attention: Any, sizes: Sizes) -> None:
    """The same as for float64 arrays; one token or one item alone keeps all three axes."""
    layer = _not_mixed(_layer("kinds", sizes))
    x = _inputs("kinds", 2, 3, layer)
    mask = oracle.causal_mask(3)
    whole = np.round(x)
    for kind in (np.int64, np.int32):
        _must_be_as_float64(attention, whole.astype(kind), _cast(layer, kind), mask)
    _must_be_as_float64(attention, x.astype(np.float32), _cast(layer, np.float32), mask, FLOAT32)
    strided = np.repeat(x, 2, axis=-1)[..., ::2]
    turned = replace(layer, Wq=np.asfortranarray(layer.Wq), Wo=np.asfortranarray(layer.Wo))
    _must_be_as_float64(attention, strided, turned, mask, note="strided and Fortran-ordered")
    fixed = _cast(layer, np.float64)
    for part in (x, *fixed.matrices, mask):
        part.flags.writeable = False
    seen = _must_be_as_float64(attention, x, fixed, mask, note="all read-only")
    for part in (x[:1], x[:, :1], x[:1, :1]):
        seen = _asked(attention, part, layer)
        value = seen.must_be_array(part.shape)
        if part.shape[1] == 1:
            why = "A single token can only look at itself: it gets its own values."
            seen.must_equal(value, layer.expected(part), "wrong output", why)


def _cast(layer: Layer, kind: Any) -> Layer:
    """A copy with matrices of this dtype."""
    Wq, Wk, Wv, Wo = (W.astype(kind) for W in layer.matrices)
    return replace(layer, Wq=Wq, Wk=Wk, Wv=Wv, Wo=Wo)


def _must_be_as_float64(
    attention: Any,
    x: Array,
    layer: Layer,
    mask: Array,
    tolerance: Tolerance = FLOAT64,
    note: str = "",
) -> Answer:
    """Asked with these arrays and with the same numbers in plain float64, it answers the same."""
    seen = _asked(attention, x, layer, mask, note=note)
    plain = np.array(x, dtype=np.float64, order="C")
    own = _asked(attention, plain, _cast(layer, np.float64), mask.copy())
    expected = own.must_be_array(x.shape)
    kind = note or str(x.dtype)
    value = seen.must_be_array(x.shape)
    seen.must_equal(value, expected, f"another result for {kind}", WHY_CAST, tolerance)
    varies = "The tokens differ, so the output is not one number throughout."
    seen.demand(bool(np.ptp(value) > 0), "all numbers alike", varies)
    seen.must_not_change()
    return seen
