"""Every right softmax agrees with the oracle on every legal input, within the contract's bounds.

So the tolerances fail no right answer, whatever scores a secret seed draws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grader import course, oracle
from grader.checks.ask import FLOAT16, FLOAT32, FLOAT64
from grader.observe import observe
from tests.student import bank, namespace

NO_SCORE = -np.inf
LESSON = course.lesson("01-softmax")
SOLVED = namespace(LESSON)
RIGHT = {str(each): each.names for each in bank("right")}
SOFTMAXES = {name: names["softmax"] for name, names in RIGHT.items() if "softmax" in names}
LISTS = {name: names["softmax_list"] for name, names in RIGHT.items() if "softmax_list" in names}

# Legal scores by dtype: −inf or finite up to 1e6; float32 is asked with |score| ≤ 50.
LARGEST = {np.float64: 1e6, np.float32: 50.0, np.float16: 60_000.0}
INTEGERS = (np.int64, np.int32, np.int16, np.int8, np.uint8)
TOLERANCE = {np.float32: FLOAT32, np.float16: FLOAT16}


def elements(kind):
    if kind in INTEGERS:
        info = np.iinfo(kind)
        return st.integers(max(info.min, -(10**6)), min(info.max, 10**6))
    width = np.dtype(kind).itemsize * 8
    finite = st.floats(-LARGEST[kind], LARGEST[kind], width=width)
    small = st.floats(-8, 8, width=width)
    return st.one_of(small, finite, st.just(NO_SCORE))


@st.composite
def legal_scores(draw):
    """An array of legal scores in any layout, and an axis of it."""
    kind = draw(st.sampled_from([*LARGEST, *INTEGERS]))
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4))
    scores = draw(hnp.arrays(kind, shape, elements=elements(kind)))
    match draw(st.sampled_from(["C", "Fortran", "strided", "reversed", "broadcast"])):
        case "Fortran":
            scores = np.asfortranarray(scores)
        case "strided":
            scores = np.repeat(scores, 2, axis=-1)[..., ::2]
        case "reversed":
            scores = scores[::-1]
        case "broadcast":
            scores = np.broadcast_to(scores[:1], scores.shape)
    if scores.flags.writeable:
        scores.flags.writeable = draw(st.booleans())
    return scores, draw(st.integers(-scores.ndim, scores.ndim - 1))


@pytest.mark.parametrize("name", ["the solution", *SOFTMAXES])
@settings(max_examples=60)
@given(legal=legal_scores())
def test_a_right_softmax_agrees_with_the_oracle(name, legal):
    scores, axis = legal
    seen = observe(SOFTMAXES.get(name, SOLVED["softmax"]), scores, axis=axis)
    assert seen.error is None
    assert seen.changed == ()
    kind = scores.dtype.type
    assert seen.value.dtype == (kind if kind in LARGEST else np.float64)
    expected = oracle.softmax(scores, axis)
    assert seen.value.shape == expected.shape
    tolerance = TOLERANCE.get(kind, FLOAT64)
    assert tolerance.allows(seen.value.astype(np.float64), expected).all()
    assert (seen.value[np.isneginf(scores)] == 0).all()


ROWS = st.lists(elements(np.float64), min_size=1, max_size=8)


@pytest.mark.parametrize("name", ["the solution", *LISTS])
@given(row=ROWS)
def test_a_right_softmax_list_agrees_with_the_oracle(name, row):
    seen = observe(LISTS.get(name, SOLVED["softmax_list"]), row)
    assert seen.error is None
    assert seen.changed == ()
    expected = np.array(oracle.softmax_row(row))
    assert FLOAT64.allows(np.array(seen.value), expected).all()
    assert all(w == 0 for s, w in zip(row, seen.value, strict=True) if s == NO_SCORE)
