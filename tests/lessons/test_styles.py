"""Every right implementation agrees with the oracle on legal inputs of every kind.

So a check that compares with the oracle fails no right answer, in whatever style it is written.
Lesson 01 has a file of its own (test_contract); what only gives numbers is asked in its lesson."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grader import course, oracle
from grader.checks.ask import FLOAT32, FLOAT64
from grader.lesson import exercises
from grader.observe import observe
from tests.student import bank, namespace, released

KINDS = (np.float64, np.float32, np.int64, np.int32)
Call = tuple[tuple[Any, ...], Any]  # the arguments, and what is expected


# --- arrays -------------------------------------------------------------------------------------


@st.composite
def arrays(draw: Any, shape: tuple[int, ...], kind: type, largest: int = 3) -> np.ndarray:
    """Numbers up to `largest`, in any memory layout, writeable or not."""
    width = np.dtype(kind).itemsize * 8
    whole = st.integers(-largest, largest)
    elements = whole if kind in (np.int64, np.int32) else st.floats(-largest, largest, width=width)
    array = draw(hnp.arrays(kind, shape, elements=elements))
    layout = draw(st.sampled_from(["C", "Fortran", "strided"]))
    if layout == "Fortran":
        array = np.asfortranarray(array)
    if layout == "strided":
        array = np.repeat(array, 2, axis=-1)[..., ::2]
    array.flags.writeable = draw(st.booleans())
    return array


@st.composite
def queries_keys_values(draw: Any, widest_lead: int = 2) -> tuple[np.ndarray, ...]:
    """Q, K and V of one kind, with leading axes or without."""
    lead = draw(hnp.array_shapes(min_dims=0, max_dims=widest_lead, max_side=3))
    S_q, S_k, d_k, d_v = (draw(st.integers(1, 4)) for _ in range(4))
    kind = draw(st.sampled_from(KINDS))
    shapes = ((*lead, S_q, d_k), (*lead, S_k, d_k), (*lead, S_k, d_v))
    return tuple(draw(arrays(shape, kind)) for shape in shapes)


@st.composite
def masks(draw: Any, shape: tuple[int, ...]) -> np.ndarray | None:
    """None, or True where a query may attend: a table that broadcasts to `shape`."""
    tables = [shape, (*shape[:-2], 1, shape[-1]), shape[-2:]]
    chosen = draw(st.sampled_from([None, *tables]))
    return None if chosen is None else draw(hnp.arrays(bool, chosen))


# --- exercises ----------------------------------------------------------------------------------


@st.composite
def attend(draw: Any) -> Call:
    Q, K, V = draw(queries_keys_values(widest_lead=0))
    Q, K, V = (part.astype(np.float64) for part in (Q[:1], K, V))
    output, weights = oracle.attention(Q, K, V)
    return (Q[0].tolist(), K.tolist(), V.tolist()), (output[0], weights[0])


@st.composite
def attention(draw: Any) -> Call:
    parts = draw(queries_keys_values())
    scale = draw(st.sampled_from([None, 0.0, 0.3, 2.0]))
    return (*parts, scale), oracle.attention(*parts, None, scale)


@st.composite
def scaled_dot_product_attention(draw: Any) -> Call:
    Q, K, V = draw(queries_keys_values())
    mask = draw(masks((*Q.shape[:-1], K.shape[-2])))
    scale = draw(st.sampled_from([None, 0.0, 0.3, 2.0]))
    return (Q, K, V, mask, scale), oracle.attention(Q, K, V, mask, scale)


@st.composite
def causal_mask(draw: Any) -> Call:
    q_len, more = draw(st.integers(1, 6)), draw(st.integers(0, 4))
    lengths = draw(st.sampled_from([(q_len,), (q_len, None), (q_len, q_len + more)]))
    return lengths, oracle.causal_mask(*lengths)


@st.composite
def padding_mask(draw: Any) -> Call:
    k_len = draw(st.integers(1, 6))
    lengths = draw(st.lists(st.integers(0, k_len), min_size=1, max_size=4))
    side = draw(st.sampled_from(["right", "left"]))
    given = draw(st.sampled_from([lengths, np.array(lengths)]))
    return (given, k_len, side), oracle.padding_mask(lengths, k_len, side)


@st.composite
def document_mask(draw: Any) -> Call:
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=3, max_side=5))
    ids = draw(hnp.arrays(np.int64, shape, elements=st.integers(-2, 3)))
    return (ids,), oracle.document_mask(ids)


@st.composite
def split_heads(draw: Any) -> Call:
    B, S, H, d = (draw(st.integers(1, 4)) for _ in range(4))
    x = draw(arrays((B, S, H * d), draw(st.sampled_from(KINDS))))
    return (x, H), oracle.split_heads(x, H)


@st.composite
def merge_heads(draw: Any) -> Call:
    x = draw(arrays(tuple(draw(st.integers(1, 4)) for _ in range(4)), np.float64))
    return (x,), oracle.merge_heads(x)


@st.composite
def layer(draw: Any, group: int) -> tuple[tuple[Any, ...], int, int]:
    """x and the four matrices of a layer, its query heads and its key/value heads."""
    B, S, kv_heads, d = (draw(st.integers(1, 3)) for _ in range(4))
    width, narrow = kv_heads * group * d, kv_heads * d
    kind = draw(st.sampled_from(KINDS))
    shapes = ((B, S, width), (width, width), (width, narrow), (width, narrow), (width, width))
    return tuple(draw(arrays(s, kind, 1)) for s in shapes), kv_heads * group, kv_heads


@st.composite
def mask_of_layer(draw: Any, B: int, H: int, S: int) -> np.ndarray | None:
    shape = draw(st.sampled_from([None, (S, S), (B, 1, S), (B, S, S), (B, H, S, S)]))
    return None if shape is None else draw(hnp.arrays(bool, shape))


@st.composite
def multi_head_attention(draw: Any) -> Call:
    parts, heads, _ = draw(layer(group=1))
    mask = draw(mask_of_layer(len(parts[0]), heads, parts[0].shape[1]))
    return (*parts, heads, mask), oracle.multi_head_attention(*parts, heads, mask)


@st.composite
def grouped_query_attention(draw: Any) -> Call:
    parts, heads, kv_heads = draw(layer(group=draw(st.integers(1, 3))))
    mask = draw(mask_of_layer(len(parts[0]), heads, parts[0].shape[1]))
    expected = oracle.grouped_query_attention(*parts, heads, kv_heads, mask)
    return (*parts, heads, kv_heads, mask), expected


@st.composite
def sliding_window_mask(draw: Any) -> Call:
    sizes = draw(st.integers(1, 7)), draw(st.integers(1, 9))
    return sizes, oracle.sliding_window_mask(*sizes)


@st.composite
def online_softmax(draw: Any) -> Call:
    scores = st.one_of(st.floats(-8, 8), st.floats(-1e6, 1e6), st.just(-np.inf))
    row = draw(hnp.arrays(np.float64, st.integers(1, 9), elements=scores))
    return (row, draw(st.integers(1, 10))), oracle.softmax(row)


@st.composite
def online_attention(draw: Any) -> Call:
    Q, K, V = draw(queries_keys_values())
    mask = draw(masks((*Q.shape[:-1], K.shape[-2])))
    return (Q, K, V, draw(st.integers(1, 5)), mask), oracle.attention(Q, K, V, mask)[0]


CALLS: dict[str, Callable[[], st.SearchStrategy[Call]]] = {
    made.__name__: made
    for made in (
        attend, attention, causal_mask, padding_mask, document_mask, scaled_dot_product_attention,
        split_heads, merge_heads, multi_head_attention, grouped_query_attention,
        sliding_window_mask, online_softmax, online_attention,
    )
}  # fmt: skip


# --- what is asked ------------------------------------------------------------------------------


def implementations() -> dict[str, tuple[str, Callable[..., Any]]]:
    """The solutions and the right files of the bank, for every exercise that is asked here."""
    solutions = {
        f"{exercise}, the solution": (exercise, namespace(entry)[exercise])
        for entry in course.lessons()
        for exercise in exercises(released(entry))
        if exercise in CALLS
    }
    files = {
        f"{exercise}, {each}": (exercise, function)
        for each in bank("right")
        for exercise, function in each.names.items()
        if exercise in CALLS and each.lesson and exercise in exercises(released(each.lesson))
    }
    return solutions | files


RIGHT = implementations()


@pytest.mark.parametrize("name", RIGHT)
@settings(max_examples=25)
@given(data=st.data())
def test_it_agrees_with_the_oracle(name: str, data: st.DataObject) -> None:
    exercise, function = RIGHT[name]
    arguments, expected = data.draw(CALLS[exercise]())
    seen = observe(function, *arguments)
    assert seen.error is None, seen.error
    assert seen.changed == ()
    narrow = any(isinstance(a, np.ndarray) and a.dtype == np.float32 for a in arguments)
    wanted = expected if isinstance(expected, tuple) else (expected,)
    given = seen.value if isinstance(expected, tuple) else (seen.value,)
    for value, part in zip(given, wanted, strict=True):
        array = np.asarray(value)
        assert array.shape == part.shape
        tolerance = FLOAT32 if narrow else FLOAT64
        assert tolerance.allows(array.astype(np.float64), part.astype(np.float64)).all()
