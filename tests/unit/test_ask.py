"""What a check says when it fails, and what counts as right."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grader.checks import ask as asked
from grader.checks.ask import (
    FLOAT16,
    FLOAT32,
    FLOAT64,
    CheckFailed,
    NotWritten,
    asking,
    call_text,
    passed,
    shown,
    source_of,
)
from tests.unit.test_observe import student

ask = asking("softmax")
TABLE = np.array([[0.0, 1.0], [2.0, -math.inf]])


def failure(function, *args, **kwargs):
    """The text of the failure that the first stage gives."""
    with pytest.raises(CheckFailed) as caught:
        ask(function, *args, **kwargs).fail("wrong weights", "Rows are softmaxes.", np.zeros(2))
    return str(caught.value)


# --- one whole message --------------------------------------------------------------------------


def test_a_failure_reads_like_this():
    f = student(
        "def f(scores, axis=-1):\n"
        "    print('scores', scores.shape)\n"
        "    e = np.exp(scores + 1000)\n"
        "    return e / e.sum(axis=0)\n"
    )
    answer = ask(f, TABLE, axis=-1)
    why = "Each row of the last axis is a softmax of its own, and the rows know nothing of others."
    with pytest.raises(CheckFailed) as caught:
        answer.fail("returns NaN", why, np.array([[1 / 3, 2 / 3], [1.0, 0.0]]))
    assert str(caught.value) == (
        "✗ softmax: returns NaN\n"
        "  call      softmax(np.array([[0.0, 1.0], [2.0, -np.inf]]), axis=-1)\n"
        "  returned  [[nan, nan],\n"
        "             [nan, 0]]\n"
        "  expected  [[0.3333, 0.6667],\n"
        "             [1, 0]]\n"
        "\n"
        "Each row of the last axis is a softmax of its own, and the rows know nothing\n"
        "of others.\n"
        "NumPy warned: overflow encountered in exp.\n"
        "NumPy warned: invalid value encountered in divide.\n"
        "  printed   scores (2, 2)"
    )


def test_an_exception_reads_like_this():
    f = student("def f(scores):\n    return scores / zero\n")
    with pytest.raises(CheckFailed) as caught:
        ask(f, np.array([1.0]))
    assert str(caught.value) == (
        "✗ softmax: NameError\n"
        "  call      softmax(np.array([1.0]))\n"
        "  raised    NameError: name 'zero' is not defined\n"
        "  at        line 2 of f: return scores / zero"
    )


def test_a_notebook_shows_the_text_and_no_traceback():
    shown_lines = CheckFailed("title", "✗ softmax: title\n  call  f()")._render_traceback_()
    text = "\n".join(shown_lines)
    assert "✗ softmax: title" in text
    assert "  call  f()" in text
    assert "Traceback" not in text
    assert "ask.py" not in text


def test_a_call_that_is_stopped_is_told_without_a_traceback_and_is_still_an_interrupt():
    f = student("def f(x):\n    for _ in x:\n        raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt) as caught:
        ask(f, [1.0])
    text = "\n".join(caught.value._render_traceback_())
    assert "✗ softmax: stopped" in text
    assert text.endswith("  at        line 3 of f: raise KeyboardInterrupt")


# --- the stages ---------------------------------------------------------------------------------


def test_a_stub_is_not_written_yet():
    with pytest.raises(NotWritten, match=r"^✗ softmax is not written yet\.$"):
        ask(student("def f(x):\n    raise NotImplementedError\n"), 1)


@pytest.mark.parametrize("thing", [None, 3, np.zeros(2), "softmax"])
def test_a_name_that_holds_no_function_is_not_written_yet(thing):
    with pytest.raises(NotWritten, match="is not written yet"):
        ask(thing, 1)


def test_not_written_is_a_notimplementederror_too():
    assert issubclass(NotWritten, NotImplementedError)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "returns None"),
        ([1.0], "returns a list"),
        ((1.0,), "returns a tuple"),
        (1.0, "returns a float"),
        (2, "returns an integer"),
        (True, "returns True or False"),
        (object(), "returns an object of type object"),
        (np.zeros((1, 2)), "wrong shape"),
        (np.zeros(3), "wrong shape"),
    ],
)
def test_what_is_no_array_of_the_shape_is_refused_in_words(value, said):
    with pytest.raises(CheckFailed) as caught:
        ask(lambda: value).must_be_array((2,))
    assert caught.value.title == said
    assert str(caught.value).startswith(f"✗ softmax: {said}\n")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "returns None"),
        (np.zeros(2), "returns an array of shape (2,)"),
        ([1.0], "wrong length"),
        ([1.0, "a"], "not all floats"),
        ([1.0, None], "not all floats"),
        ([1.0, np.zeros(2)], "not all floats"),
        ([1.0, 1j], "not all floats"),
    ],
)
def test_what_is_no_list_of_floats_is_refused_in_words(value, said):
    with pytest.raises(CheckFailed) as caught:
        ask(lambda: value).must_be_list_of_floats(2)
    assert caught.value.title == said


def test_numpy_floats_are_floats():
    weights = ask(lambda: [np.float64(0.5), np.float32(0.5)]).must_be_list_of_floats(2)
    assert weights.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("value", "said"), [(math.nan, "returns NaN"), (math.inf, "returns infinity")]
)
def test_values_that_are_not_finite_are_refused_in_words(value, said):
    with pytest.raises(CheckFailed) as caught:
        ask(lambda: np.array([value, 1.0])).must_be_finite(np.array([value, 1.0]), "why")
    assert caught.value.title == said


def test_a_changed_argument_is_refused_only_where_it_is_asked():
    def f(x):
        x[0] = 9.0
        return x

    answer = ask(f, np.zeros(2))
    answer.must_not_change(1)
    with pytest.raises(CheckFailed, match="changes its argument"):
        answer.must_not_change()


def test_warnings_beside_a_right_result_are_told_and_cost_nothing(capsys):
    answer = ask(lambda x: np.log(x), np.zeros(1))
    passed("softmax is right", answer)
    assert capsys.readouterr().out == (
        "✓ softmax is right\n"
        "  NumPy warned (divide by zero encountered in log); "
        "the result is right, so that costs nothing.\n"
    )


def test_prints_are_shown_with_a_failure_the_last_lines_only():
    text = failure(lambda x: print("\n".join("abcdef")), 1)
    assert "  printed   d\n            e\n            f" in text
    assert " c" not in text.partition("printed")[2]


# --- the call that can be pasted ------------------------------------------------------------------


def pasted(value):
    return eval(source_of(value), {"np": np, "math": math})


DTYPES = [np.float64, np.float32, np.float16, np.int64, np.int32, np.int8, np.uint8, np.uint64]


@pytest.mark.parametrize("kind", [*DTYPES, np.bool_])
@given(data=st.data())
def test_a_pasted_array_is_the_array_that_was_asked(kind, data):
    array = data.draw(hnp.arrays(kind, hnp.array_shapes(max_dims=4, max_side=3)))
    again = pasted(array)
    assert again.dtype == array.dtype
    assert again.shape == array.shape
    np.testing.assert_array_equal(again, array)


@pytest.mark.parametrize("kind", [*DTYPES[:3]])
@pytest.mark.parametrize("fill", [0.0, -math.inf, math.inf, math.nan])
def test_a_long_array_of_one_value_is_told_in_short_and_is_the_same(kind, fill):
    array = np.full((2400,), fill, kind)
    assert len(source_of(array)) < 60
    np.testing.assert_array_equal(pasted(array), array)
    assert pasted(array).dtype == array.dtype


def test_a_pasted_list_is_the_list_that_was_asked():
    row = [0.0, -math.inf, math.inf, 1e-300, 3]
    assert pasted(row) == row
    assert math.isnan(pasted([math.nan])[0])


def test_a_pasted_generator_draws_what_the_check_drew():
    made = np.random.default_rng(20)
    assert pasted(made).normal(size=3).tolist() == made.normal(size=3).tolist()


def test_a_pasted_call_gives_what_the_check_saw():
    text = call_text("softmax", (TABLE.astype(np.float32),), {"axis": 0}, "in Fortran order")
    called = eval(text, {"np": np, "softmax": lambda scores, axis: (scores, axis)})
    np.testing.assert_array_equal(called[0], TABLE.astype(np.float32))
    assert called[1] == 0
    assert text.endswith("  # in Fortran order")


def test_a_long_call_is_broken_between_arguments_or_rows_and_is_the_same():
    args = (2, np.arange(60.0).reshape(2, 5, 6) / 8, np.eye(6), np.full((6, 6), 0.5))
    text = call_text("attend", args, {"mask": None}, "as it was")
    lines = text.split("\n")
    assert lines[0] == "attend(2,"
    assert lines[1].startswith("    np.array([[[0.0, 0.125, ")
    assert all(line.endswith(("],", "]),")) for line in lines[1:-1])
    assert lines[-1] == "    np.eye(6), np.full((6, 6), 0.5), mask=None)  # as it was"
    assert max(map(len, lines)) <= 96
    called = eval(text, {"np": np, "attend": lambda *args, mask: (*args, mask)})
    for again, wanted in zip(called, (*args, None), strict=True):
        np.testing.assert_array_equal(again, wanted)


@pytest.mark.parametrize("last", [1.0, -0.0, 1e300, math.nan, -math.inf])
def test_a_large_array_of_whole_numbers_is_told_without_their_points(last):
    array = np.append(np.arange(-9.0, 11.0), last)
    again = pasted(array)
    assert ("dtype=float" in source_of(array)) == (last == 1.0)
    np.testing.assert_array_equal(again, array)
    np.testing.assert_array_equal(np.signbit(again), np.signbit(array))
    assert again.dtype == array.dtype


# --- values for reading ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1 / 3, "0.3333"),
        (np.float64(1e-300), "1e-300"),
        ([0.5, math.nan], "[0.5, nan]"),
        (np.array([1.0, 2.0], np.float16), "[1, 2]  (float16)"),
        ([np.array(3), np.array(0)], "[3, 0]"),
        (None, "None"),
    ],
)
def test_values_are_shown_with_four_digits_and_their_type_where_it_is_not_float64(value, text):
    assert shown(value) == text


@pytest.mark.parametrize("value", [np.zeros(10_000), [0.0] * 10_000, "x" * 10_000])
def test_long_values_are_shown_in_short(value):
    assert len(shown(value)) < 300


# --- tolerance: contract.md, both sides ---------------------------------------------------------

MAGNITUDES = st.floats(1e-12, 1e6)
BOUNDS = [
    (FLOAT64, 1e-6, lambda largest: 1e-9 * largest),
    (FLOAT32, 1e-4, lambda largest: 1e-6 * largest),
    (FLOAT16, 2e-3, lambda largest: 1e-6),
]


@pytest.mark.parametrize(("tolerance", "relative", "absolute"), BOUNDS)
@given(values=st.lists(MAGNITUDES, min_size=1, max_size=4), sign=st.sampled_from([-1, 1]))
def test_the_tolerance_is_what_the_contract_says_from_both_sides(
    tolerance, relative, absolute, values, sign
):
    expected = np.array(values)
    room = relative * expected + absolute(max(1.0, expected.max()))
    assert tolerance.allows(expected + sign * 0.99 * room, expected).all()
    assert not tolerance.allows(expected + sign * 1.01 * room, expected).any()


@pytest.mark.parametrize("tolerance", [FLOAT64, FLOAT32, FLOAT16])
def test_nan_and_infinity_are_never_within_the_tolerance(tolerance):
    odd = np.array([math.nan, math.inf, -math.inf])
    assert not tolerance.allows(odd, np.zeros(3)).any()


def test_an_epsilon_of_1e_minus_7_is_right_and_one_of_1e_minus_5_is_not():
    weights = np.array([0.5, 0.5])
    assert FLOAT64.allows(np.array([1.0, 1.0]) / (2 + 1e-7), weights).all()
    assert not FLOAT64.allows(np.array([1.0, 1.0]) / (2 + 1e-5), weights).any()


def test_must_equal_names_the_expected_value():
    answer = ask(lambda: np.array([0.5, 0.4]))
    with pytest.raises(CheckFailed, match=r"expected  \[0\.5, 0\.5\]"):
        answer.must_equal(answer.value, np.array([0.5, 0.5]), "wrong weights", "Sum is 1.")


def test_messages_keep_to_the_width_of_a_page():
    text = failure(lambda x: None, 1)
    assert max(map(len, text.splitlines())) <= asked.WIDTH


# --- memory ---------------------------------------------------------------------------------------


def test_a_call_that_is_measured_knows_its_peak_and_is_no_probe():
    with asked.recording() as probes:
        plain = ask(np.zeros, 1_000_000)
        measured = ask(np.zeros, 1_000_000, memory=True)
    assert plain.peak == 0
    assert 8_000_000 <= measured.peak < 40_000_000
    assert len(probes) == 1
