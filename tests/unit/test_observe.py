"""`observe` has code do one thing, lends copies, and turns whatever happens into plain data."""

import linecache
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grader.observe import MESSAGE_LIMIT, PRINT_LIMIT, Handle, NotData, observe
from grader.wire import same

BASE = np.arange(24.0).reshape(2, 3, 4)
LAYOUTS = {
    "C": BASE,
    "Fortran": np.asfortranarray(BASE),
    "transposed": BASE.T,
    "strided": BASE[:, :, ::2],
    "reversed": BASE[:, ::-1],
    "broadcast": np.broadcast_to(np.arange(4.0), (3, 4)),
    "one number": np.array(3.5),
    "empty": np.zeros((0, 3)),
}


def lent(array):
    """The array that a student's function is given for `array`."""
    received = []
    observe(lambda given: received.append(given), array)
    return received[0]


def student(source: str, name: str = "f"):
    """A function defined as in a student's own cell."""
    file = f"<cell {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names = {"__name__": "__main__", "np": np}
    exec(compile(source, file, "exec"), names)
    return names[name]


def raising(exception: BaseException):
    def f() -> None:
        raise exception

    return f


# --- what is lent -------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_copy_keeps_values_layout_and_memory_of_its_own(layout):
    array = LAYOUTS[layout]
    copied = lent(array)
    assert same(copied, array)
    assert not np.shares_memory(copied, array)
    for flag in ("c_contiguous", "f_contiguous"):
        assert getattr(copied.flags, flag) == getattr(array.flags, flag)


def test_a_broadcast_axis_stays_one_row_in_memory():
    assert lent(LAYOUTS["broadcast"]).strides[0] == 0


@pytest.mark.parametrize("layout", ["C", "Fortran", "strided"])
@pytest.mark.parametrize("writeable", [True, False])
def test_a_copy_keeps_the_read_only_flag(layout, writeable):
    array = LAYOUTS[layout].copy(order="K")
    array.flags.writeable = writeable
    assert lent(array).flags.writeable == writeable


def test_writing_to_a_read_only_argument_is_an_error_of_the_call():
    locked = np.zeros(2)
    locked.flags.writeable = False
    seen = observe(student("def f(x):\n    x[0] = 1\n"), locked)
    assert seen.error is not None
    assert seen.error.kind == "ValueError"
    assert seen.changed == ()


def test_a_generator_is_copied():
    rng = np.random.default_rng(1)
    before = rng.bit_generator.state
    drawn = observe(lambda generator: generator.normal(size=3), rng).value
    assert rng.bit_generator.state == before
    assert same(drawn, rng.normal(size=3))


def test_lists_inside_lists_are_copied():
    rows = [[1.0], [2.0]]
    seen = observe(lambda given: given[0].append(9.0), rows)
    assert rows == [[1.0], [2.0]]
    assert seen.changed == (0,)


DTYPES = hnp.floating_dtypes(endianness="=") | hnp.integer_dtypes(endianness="=")


@given(hnp.arrays(DTYPES, hnp.array_shapes(max_side=4)))
def test_every_array_is_lent_as_it_is(array):
    assert same(lent(array), array)


# --- what is changed ----------------------------------------------------------------------------


def test_changed_arguments_are_named_and_the_originals_stay():
    def f(a, b, c=None):
        b[0] = 7.0
        c.append(1)

    b, c = np.zeros(2), [0]
    seen = observe(f, np.zeros(2), b, c=c)
    assert seen.changed == (1, "c")
    assert b[0] == 0.0
    assert c == [0]


def test_a_change_that_only_the_sign_of_zero_shows_is_a_change():
    def f(x):
        x *= -1

    assert observe(f, np.zeros(2)).changed == (0,)


class Agreeable:
    """Calls itself equal to everything, or refuses to be compared at all."""

    def __init__(self, refuses):
        self.refuses = refuses

    def __eq__(self, other):
        if self.refuses:
            raise RuntimeError
        return True

    __hash__ = None


@pytest.mark.parametrize("refuses", [True, False])
def test_an_object_put_in_the_place_of_a_number_is_a_change(refuses):
    def f(row):
        row[0] = Agreeable(refuses)

    assert observe(f, [1, 2]).changed == (0,)


def test_an_untouched_nan_is_no_change():
    assert observe(lambda x, y: None, np.array([np.nan]), [float("nan")]).changed == ()


def test_a_change_before_an_exception_is_seen():
    def f(x):
        x[0] = 1
        raise ValueError

    assert observe(f, np.zeros(1)).changed == (0,)


# --- what is raised -----------------------------------------------------------------------------


class Own(BaseException):
    pass


@pytest.mark.parametrize(
    "exception", [StopIteration(3), SystemExit(0), MemoryError(), GeneratorExit(), Own("mine")]
)
def test_any_exception_becomes_text(exception):
    seen = observe(raising(exception))
    assert seen.error is not None
    assert seen.error.kind == type(exception).__name__
    assert seen.value is None


def test_keyboard_interrupt_passes():
    with pytest.raises(KeyboardInterrupt):
        observe(raising(KeyboardInterrupt()))


def test_the_message_of_an_exception_is_bounded():
    seen = observe(raising(ValueError("x" * 10 * MESSAGE_LIMIT)))
    assert len(seen.error.message) == MESSAGE_LIMIT


def test_a_message_that_cannot_be_read_is_said_to_be_so():
    class Unreadable(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert observe(raising(Unreadable())).error.message == "(its message cannot be read)"


def test_control_characters_do_not_reach_the_terminal():
    seen = observe(raising(ValueError("\x1b[2Jgone\u202e")))
    assert seen.error.message == "[2Jgone"


def test_where_names_the_students_line_and_function():
    seen = observe(student("def f(x):\n    y = x + 1\n    return y / 0\n"), 1)
    assert str(seen.error) == ("ZeroDivisionError: division by zero (line 3 of f: return y / 0)")


def test_where_is_the_students_own_line_when_a_library_raises():
    seen = observe(student("def f(x):\n    return np.zeros(2) @ np.zeros(3)\n"), 1)
    assert seen.error.where == "line 2 of f: return np.zeros(2) @ np.zeros(3)"


def test_where_is_the_deepest_of_the_students_functions():
    seen = observe(student("def helper():\n    raise KeyError('k')\n\ndef f():\n    helper()\n"))
    assert seen.error.where.startswith("line 2 of helper")


def test_a_syntax_error_in_what_the_student_compiles_names_its_line():
    seen = observe(student("def f():\n    eval('1 +')\n"))
    assert seen.error.where == "line 1: 1 +"


def test_endless_recursion_becomes_text():
    seen = observe(student("def f():\n    return f()\n"))
    assert seen.error.kind == "RecursionError"


# --- what is warned and printed -----------------------------------------------------------------


def test_numpy_warnings_are_reported_and_not_raised():
    seen = observe(lambda: np.exp(np.array([1000.0])))
    assert seen.error is None
    assert seen.warnings == ("RuntimeWarning: overflow encountered in exp",)


def test_numpys_default_error_state_is_used_whatever_is_set_outside():
    with np.errstate(all="ignore"):
        assert observe(lambda: np.log(np.zeros(1))).warnings
    with np.errstate(all="raise"):
        assert observe(lambda: np.exp(np.array([-1000.0]))).error is None


def test_a_repeated_warning_is_told_once_also_at_the_second_call():
    def f():
        for _ in range(3):
            warnings.warn("mind this", stacklevel=1)

    assert observe(f).warnings == observe(f).warnings == ("UserWarning: mind this",)


def test_prints_are_kept_out_of_the_notebook_and_reported(capsys):
    seen = observe(lambda: (print("out"), print("err", file=sys.stderr)))
    assert seen.printed == "out\nerr\n"
    assert capsys.readouterr() == ("", "")


def test_prints_are_bounded():
    def f():
        for _ in range(100):
            print("y" * PRINT_LIMIT)

    assert len(observe(f).printed) == PRINT_LIMIT


# --- what is returned ---------------------------------------------------------------------------


class Truthy(np.ndarray):
    """A result that calls itself equal to everything."""

    def __eq__(self, other):
        return np.True_

    __hash__ = None


def test_an_array_of_a_subclass_comes_as_a_base_array():
    value = observe(lambda: np.zeros(2).view(Truthy)).value
    assert type(value) is np.ndarray
    assert not (value == 1).any()


def test_a_masked_array_comes_as_its_data():
    value = observe(lambda: np.ma.masked_array([1.0, 2.0], [True, False])).value
    assert type(value) is np.ndarray


def test_a_returned_view_is_cut_loose_from_the_argument():
    received = []

    def f(x):
        received.append(x)
        return x[::2]

    value = observe(f, np.arange(4.0)).value
    assert value.tolist() == [0.0, 2.0]
    assert not np.shares_memory(value, received[0])


OBJECTS = [object(), np.array(["a"]), np.array([None]), {1}, iter([]), np.zeros, ValueError]


@pytest.mark.parametrize("value", OBJECTS, ids=lambda value: type(value).__name__)
def test_what_is_not_plain_data_is_only_named(value):
    came = observe(lambda: value).value
    assert isinstance(came, Handle)
    assert came.type_name == type(value).__name__


def test_an_object_inside_plain_data_is_named_too():
    first, second = observe(lambda: [1, {"a": object()}]).value
    assert first == 1
    assert second["a"].type_name == "object"


class Cache:
    """An object of the student's: callable parts, a length, and an opinion about itself."""

    keys = np.ones(2)

    def append(self, key):
        return key + 1

    def __len__(self):
        return 3

    def __eq__(self, other):
        return True

    __hash__ = None


def test_an_object_can_be_called_asked_for_attributes_and_for_its_length():
    cache = observe(Cache).value
    assert observe(cache.method("append"), 4).value == 5
    assert same(cache.get("keys").value, np.ones(2))
    assert cache.length().value == 3
    assert cache.get("nothing").error.kind == "AttributeError"


@pytest.mark.parametrize(
    "use", [bool, len, iter, list, float, np.asarray, lambda x: x == 1, lambda x: x < 1]
)
def test_an_object_is_never_taken_for_data(use):
    cache = observe(Cache).value
    with pytest.raises(NotData):
        use(cache)


class Keeper:
    """An object that keeps what it is given, copied or not."""

    def keep(self, array):
        self.kept, self.copy = array, array.copy()


def test_an_array_that_stays_beside_an_object_can_be_overwritten_later():
    keeper = observe(Keeper).value
    given = np.ones((2, 3))
    array = keeper.keep(given).value
    assert observe(keeper.method("keep"), array).error is None
    assert observe(array.method("fill"), 9.0).error is None
    assert same(keeper.get("kept").value, np.full((2, 3), 9.0))
    assert same(keeper.get("copy").value, np.ones((2, 3)))
    assert same(given, np.ones((2, 3)))


def test_an_endless_structure_is_an_error_of_the_call():
    def f():
        endless = []
        endless.append(endless)
        return endless

    assert observe(f).error is not None


class Score(float):
    def __eq__(self, other):
        return True

    __hash__ = float.__hash__


@pytest.mark.parametrize(
    ("value", "kind"),
    [(Score(2.0), float), (np.float64(2.0), float), (True, bool), (3, int), ("a", str)],
)
def test_scalars_come_in_base_types(value, kind):
    assert type(observe(lambda: value).value) is kind


def test_a_numpy_integer_comes_as_a_number_of_its_type():
    value = observe(lambda: np.int32(3)).value
    assert value == 3
    assert value.dtype == np.int32


FLOATS = st.floats(allow_nan=False) | st.just(float("nan"))
PLAIN = st.recursive(FLOATS | st.integers(-(2**70), 2**70) | st.text(), st.lists, max_leaves=8)


@given(PLAIN)
def test_plain_data_goes_and_comes_back_as_it_is(value):
    assert same(observe(lambda given: given, value).value, value)


# --- memory -------------------------------------------------------------------------------------


def test_peak_memory_is_what_the_call_needed_at_most():
    def f(count):
        np.zeros(count)
        return np.zeros(1)

    peak = observe(f, 2_000_000, memory=True).peak
    assert 16_000_000 <= peak < 17_000_000


def test_peak_memory_is_not_measured_unless_asked_for():
    assert observe(lambda: 1).peak is None


def test_peak_memory_of_a_call_that_fails_is_measured_too():
    def f():
        np.zeros(1_000_000)
        raise ValueError

    assert observe(f, memory=True).peak >= 8_000_000
