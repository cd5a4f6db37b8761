"""The wire: what is plain comes through unchanged, what is not is refused, and nothing is run."""

import contextlib
import enum
import json
import math
import signal
import struct
import sys
import tracemalloc
from collections import Counter, OrderedDict, namedtuple
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader import wire
from grader.wire import Ref, WireError, decode, encode, same, type_name

HANG = 120  # seconds; far above what any test here takes


@pytest.fixture(autouse=True)
def no_hang() -> Iterator[None]:
    """Fail a test that would otherwise run for ever."""

    def give_up(*_: object) -> None:
        raise AssertionError(f"still running after {HANG} s")

    if not hasattr(signal, "SIGALRM"):  # then a hang is stopped by whoever runs the tests
        yield
        return
    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(HANG)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def message(header: Any, body: bytes = b"") -> bytes:
    """A message as a hostile sender could write it."""
    packed = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack(">I", len(packed)) + packed + body


def array_header(**changes: Any) -> dict[str, Any]:
    fields = {"dtype": "<f8", "shape": [2], "order": "C", "repeated": [], "writeable": True}
    return {"array": {**fields, **changes}}


def refused(data: bytes, rule: str = ".", **accepted: Any) -> None:
    with pytest.raises(WireError, match=rule):
        decode(data, **accepted)


def peak_while_decoding(data: bytes) -> int:
    tracemalloc.start()
    try:
        decode(data)
    except WireError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


# --- legal values -----------------------------------------------------------------------------

integers = st.integers() | st.integers(-(10**1000) + 1, 10**1000 - 1)
floats = st.floats().map(lambda x: math.nan if math.isnan(x) else x)
texts = st.text(st.characters(exclude_categories=["Cs"]))
scalars = st.none() | st.booleans() | integers | floats | st.builds(complex, floats, floats) | texts
shapes = st.lists(st.integers(0, 4), max_size=4)


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray:
    """An array of any dtype, bits, layout and writeability."""
    dtype = np.dtype(draw(st.sampled_from(wire.DTYPE_CODES)))
    shape = draw(shapes)
    layout = draw(st.sampled_from(["C", "F", "strided", "reversed", "broadcast"]))
    if layout == "strided":
        shape = [*shape[:-1], 2 * shape[-1]] if shape else shape
    size = math.prod(shape) * dtype.itemsize
    bits = np.frombuffer(draw(st.binary(min_size=size, max_size=size)), np.uint8)
    bits = bits % 2 if dtype.kind == "b" else bits
    array = bits.copy().view(dtype).reshape(shape)
    if layout == "F":
        array = np.asfortranarray(array) if shape else array
    elif layout in ("strided", "reversed") and shape:
        array = array[..., ::2] if layout == "strided" else array[::-1]
    elif layout == "broadcast":
        array = np.broadcast_to(array, (*draw(st.lists(st.integers(1, 3), max_size=2)), *shape))
        array = np.swapaxes(array, 0, -1) if array.ndim and draw(st.booleans()) else array
    if draw(st.booleans()):
        array.flags.writeable = False
    return array


keys = st.recursive(
    (st.none() | st.booleans() | integers | texts)
    | st.floats(allow_nan=False)
    | st.complex_numbers(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=4,
)
values = st.recursive(
    scalars | arrays(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(keys, inner, max_size=4)
    ),
    max_leaves=12,
)


@given(values)
@settings(deadline=None)
def test_every_plain_value_comes_back_to_the_last_bit(value: Any) -> None:
    assert same(decode(encode(value)), value)


@given(values)
@settings(deadline=None)
def test_the_same_value_gives_the_same_bytes_and_what_came_back_does_too(value: Any) -> None:
    assert encode(decode(encode(value))) == encode(value) == encode(value)


def layout(array: np.ndarray) -> tuple[Any, ...]:
    still = tuple(n > 1 and step == 0 for n, step in zip(array.shape, array.strides, strict=True))
    flags = array.flags
    return flags.c_contiguous, flags.f_contiguous, flags.writeable, still if array.size else ()


@given(arrays())
@settings(deadline=None)
def test_an_array_keeps_layout_and_writeability_in_fresh_memory(array: np.ndarray) -> None:
    sent = encode(array)
    back = decode(sent)
    assert type(back) is np.ndarray
    assert same(back, array)
    assert layout(back) == layout(array)
    assert not np.shares_memory(back, array)
    assert not np.shares_memory(back, np.frombuffer(sent, np.uint8))


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_contiguous_array_owns_its_memory(order: Any) -> None:
    back = decode(encode(np.array([[1, 2, 3], [4, 5, 6]], order=order)))
    assert back.flags.owndata and back.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_a_broadcast_array_is_sent_once_and_repeats_where_it_did() -> None:
    rows = np.broadcast_to(np.arange(4.0)[:, None], (3, 4, 1000))
    sent = encode(rows)
    assert len(sent) < 200
    back = decode(sent)
    assert same(back, rows.copy()) and back.strides == (0, 8, 0)


def test_a_writeable_broadcast_array_stays_writeable() -> None:
    array = np.lib.stride_tricks.as_strided(np.array([1.0]), (3,), (0,))
    back = decode(encode(array))
    back[0] = 5.0
    assert back.tolist() == [5.0, 5.0, 5.0]


def test_a_new_axis_of_length_one_is_not_broadcast() -> None:
    assert decode(encode(np.arange(3.0)[:, None])).flags.owndata


def test_foreign_byte_order_is_made_native() -> None:
    back = decode(encode(np.array([1.5, -2.0], ">f8")))
    assert back.dtype == np.float64 and back.dtype.isnative and back.tolist() == [1.5, -2.0]


@pytest.mark.parametrize("value", [0.0, -0.0, math.inf, -math.inf, 5e-324, sys.float_info.max])
def test_special_floats_survive(value: float) -> None:
    assert struct.pack("d", decode(encode(value))) == struct.pack("d", value)


def test_types_that_compare_equal_stay_apart() -> None:
    value = [True, 1, 1.0, 1 + 0j, False, 0, -0.0, "1", None]
    assert [type(item) for item in decode(encode(value))] == [type(item) for item in value]


def test_half_a_surrogate_pair_is_refused_on_both_sides() -> None:
    for text in ("\ud800", "a\udfffb", "\ud83d\ude00"):
        with pytest.raises(WireError, match="surrogate"):
            encode(["fine", text])
    refused(message(b'"\\ud800"'), "surrogate")
    assert decode(message(b'"\\ud83d\\ude00"')) == "😀"


# --- generators -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", wire.BIT_GENERATORS)
@given(seed=st.integers(0, 2**32), drawn=st.integers(0, 700))
@settings(max_examples=20, deadline=None)
def test_a_generator_draws_what_the_original_draws_next(name: str, seed: int, drawn: int) -> None:
    original = np.random.Generator(wire.BIT_GENERATORS[name](seed))
    original.integers(0, 2**16, drawn, dtype=np.uint16)
    copied = decode(encode(original), generators=True)
    assert type(copied) is np.random.Generator
    assert same(copied.random(700), original.random(700))
    assert same(copied.integers(0, 9, 5, np.uint32), original.integers(0, 9, 5, np.uint32))


def test_a_generator_must_be_asked_for() -> None:
    refused(encode([np.random.default_rng(1)]), "generator is not accepted")


@pytest.mark.parametrize("place", [-1, 625, 10**6, 2**70, 3.0, True, None])
def test_a_place_outside_of_a_generators_buffer_is_refused(place: Any) -> None:
    state: Any = np.random.MT19937(1).state
    state["state"]["pos"] = place
    refused(generator_message(state), "state has the wrong form", generators=True)
    state = np.random.Philox(1).state
    state["buffer_pos"] = place
    refused(generator_message(state), "state has the wrong form", generators=True)


def test_every_place_inside_of_a_generators_buffer_is_taken() -> None:
    state = np.random.MT19937(1).state
    for place in (0, 624):
        state["state"]["pos"] = place
        assert decode(generator_message(state), generators=True).random() < 1


@pytest.mark.parametrize(
    "state",
    [
        7,
        {},
        {"bit_generator": "RandomState"},
        {"bit_generator": ["PCG64"]},
        {"bit_generator": "PCG64"},
        {**np.random.PCG64(1).state, "state": {"state": 2**128, "inc": 1}},
        {**np.random.PCG64(1).state, "uinteger": 2**32},
        {**np.random.SFC64(1).state, "state": {"state": np.zeros(3, np.uint64)}},
        {**np.random.SFC64(1).state, "state": {"state": np.zeros(4, np.int64)}},
        {**np.random.PCG64(1).state, "more": 1},
    ],
)
def test_a_malformed_generator_is_refused(state: Any) -> None:
    refused(generator_message(state), generators=True)


def generator_message(state: Any) -> bytes:
    """A message that offers `state` as a generator's."""
    plain = encode(state)
    (length,) = struct.unpack(">I", plain[:4])
    return message({"generator": json.loads(plain[4 : 4 + length])}, plain[4 + length :])


# --- references -------------------------------------------------------------------------------


def a_function() -> None:
    """Not plain data."""


def test_what_is_not_plain_becomes_a_reference() -> None:
    given_out: list[object] = []

    def refer(value: object) -> Ref:
        given_out.append(value)
        return Ref("object", len(given_out), type_name(value))

    things = [range(3), {1}, b"x", a_function, np.array([None]), np.zeros(2, "i4,f8"), object]
    back = decode(encode({"all": things, "one": 1}, refer), frozenset({"object"}))
    assert all(one is other for one, other in zip(given_out, things, strict=True))
    names = ["range", "set", "bytes", "function", "ndarray", "ndarray", "type"]
    assert back["all"] == [Ref("object", n, name) for n, name in enumerate(names, 1)]


@pytest.mark.parametrize("value", [b"x", {1}, iter([1]), a_function, np.datetime64(1, "s"), ...])
def test_what_is_not_plain_is_refused_when_nobody_refers_to_it(value: object) -> None:
    with pytest.raises(WireError, match=f"of type {type(value).__name__} is not plain data"):
        encode([value])


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "function", "number": 1, "type": "f"},
        {"kind": "object", "number": -1, "type": "f"},
        {"kind": "object", "number": 2**31 + 1, "type": "f"},
        {"kind": "object", "number": True, "type": "f"},
        {"kind": "object", "number": 1, "type": "f" * 101},
        {"kind": "object", "number": 1, "type": "\x1b[31m"},
        {"kind": "object", "number": 1},
        {"kind": "object", "number": 1, "type": "f", "more": 1},
        {"kind": ["object"], "number": 1, "type": "f"},
        ["object", 1, "f"],
    ],
)
def test_a_malformed_or_unwanted_reference_is_refused(fields: Any) -> None:
    refused(message({"ref": fields}), refs=frozenset({"object"}))


def test_type_names_are_cut_and_printable() -> None:
    class Sly(str):
        __getitem__ = __iter__ = __str__ = __len__ = None  # type: ignore[assignment]

    assert type_name(type("x" * 200, (), {})()) == "x" * 100
    assert type_name(type(Sly("\x1b[31m\n\u202eé"), (), {})()) == "?[31m??é"
    ref = decode(encode(object(), lambda _: Ref("o", 1, "\n" * 200)), frozenset({"o"}))
    assert ref == Ref("o", 1, "?" * 100)


# --- subclasses and hostile objects -----------------------------------------------------------

Point = namedtuple("Point", "x y")
Colour = enum.IntEnum("Colour", {"RED": 7})


@pytest.mark.parametrize(
    ("value", "expected", "name"),
    [
        (np.float64(1.5), 1.5, "float64"),
        (np.complex128(1j), 1j, "complex128"),
        (np.str_("a"), "a", "str_"),
        (np.float32(1.5), np.array(1.5, np.float32), "float32"),
        (np.int64(-3), np.array(-3), "int64"),
        (np.True_, np.array(True), type(np.True_).__name__),
        (np.longdouble(1) / 3, np.array(np.longdouble(1) / 3), "longdouble"),
        (Colour.RED, 7, "Colour"),
        (Point(1, 2), (1, 2), "Point"),
        (Counter("aab"), {"a": 2, "b": 1}, "Counter"),
        (OrderedDict(b=1, a=2), {"b": 1, "a": 2}, "OrderedDict"),
        (np.array([[1, 2]]).view(np.matrix), np.array([[1, 2]]), "matrix"),
        (np.ma.masked_array([1.0, 2.0], [False, True]), np.array([1.0, 2.0]), "MaskedArray"),
    ],
)
def test_a_subclass_travels_as_its_base_and_is_noted(value: Any, expected: Any, name: str) -> None:
    noted: list[str] = []
    assert same(decode(encode([value], note=noted.append)), [expected])
    assert noted == [name]


def test_base_data_is_not_noted() -> None:
    noted: list[str] = []
    encode([None, True, 1, 1.0, 1j, "a", (), {}, np.ones(2), np.array(1)], note=noted.append)
    assert noted == []


def test_a_memory_map_travels_as_an_array(tmp_path: Any) -> None:
    mapped = np.memmap(tmp_path / "numbers", np.float64, "w+", shape=(3,))
    mapped[:] = [1, 2, 3]
    assert same(decode(encode(mapped)), np.array([1.0, 2.0, 3.0]))


class Spies:
    """Makes classes whose every method, and every method of whose metaclass, is recorded."""

    NEEDED = (
        "__new__ __init__ __init_subclass__ __class_getitem__ __del__ __qualname__ __dict__ "
        "__module__ __doc__ __weakref__"
    )
    NEEDED_BY_A_METACLASS = "mro __call__ __prepare__ __setattr__ __basicsize__ __dictoffset__"
    ALSO = (
        "__array__ __array_interface__ __array_struct__ __array_ufunc__ __array_function__ "
        "__array_priority__ __array_finalize__ __array_wrap__ __bool__ __bytes__ __call__ "
        "__complex__ __contains__ __float__ __getattr__ __getitem__ __index__ __int__ __iter__ "
        "__len__ __length_hint__ __next__ __buffer__ __fspath__ __subclasscheck__ "
        "__instancecheck__ bit_generator dtype encode items keys shape strides tobytes tolist"
    )

    def __init__(self) -> None:
        self.calls: list[str] = []

    def subclass(self, *bases: type, without: tuple[str, ...] = ()) -> Any:
        """A subclass of `bases` that lies about its class."""
        needed = (*self.NEEDED_BY_A_METACLASS.split(), *without)
        meta = type("Meta", (type,), self._methods(needed, type))
        return meta("Hostile", bases, self._methods(without, *bases, object))

    def _methods(self, without: tuple[str, ...], *bases: type) -> dict[str, Any]:
        names = {name for base in bases for name in dir(base)} | set(self.ALSO.split())
        methods = {name: self._spy(name) for name in names - set(self.NEEDED.split())}
        lies = ("__class__", "__name__", "__mro__", "__bases__", "__base__", "__flags__")
        methods |= {name: property(self._spy(name)) for name in lies}
        return {name: method for name, method in methods.items() if name not in without}

    def _spy(self, name: str) -> Any:
        def spy(*_: object, **__: object) -> Any:
            self.calls.append(name)
            raise AssertionError(f"{name} of a student's object was called")

        return spy


@pytest.mark.parametrize(
    ("base", "content", "expected"),
    [
        (list, [1, 2.0], [1, 2.0]),
        (tuple, (1, "a"), (1, "a")),
        (dict, {"a": 1}, {"a": 1}),
        (int, 12345678901234567890, 12345678901234567890),
        (float, 0.1, 0.1),
        (complex, 1 - 2j, 1 - 2j),
        (str, "text", "text"),
        (OrderedDict, {}, {}),
        (np.float64, 0.1, 0.1),
        (np.complex128, 1 - 2j, 1 - 2j),
        (np.str_, "text", "text"),
    ],
)
def test_nothing_of_a_hostile_subclass_runs(base: type, content: Any, expected: Any) -> None:
    spies = Spies()
    kind = spies.subclass(base)
    hostile: Any = base.__new__(kind, content)
    if issubclass(base, list):
        list.extend(hostile, content)
    if issubclass(base, dict):
        dict.update(hostile, content)
    spies.calls.clear()
    noted: list[str] = []
    sent = encode([hostile, (hostile,)], note=noted.append)
    assert spies.calls == [] and noted == ["Hostile", "Hostile"]
    assert type(hostile) is kind
    assert same(decode(sent), [expected, (expected,)])


def test_nothing_of_a_hostile_array_runs() -> None:
    spies = Spies()
    # NumPy asks for the first two when it makes the object.
    kind = spies.subclass(np.ndarray, without=("__getattribute__", "__array_finalize__"))
    hostile = np.ndarray.__new__(kind, (2,), np.float64, np.array([1.0, 2.0]))
    spies.calls.clear()
    sent = encode([hostile])
    assert spies.calls == [] and type(hostile) is kind
    assert same(decode(sent), [np.array([1.0, 2.0])])


@pytest.mark.parametrize("base", [object, np.float32, np.int64, BaseException, np.random.Generator])
def test_nothing_of_another_hostile_object_runs(base: type) -> None:
    spies = Spies()
    kind = spies.subclass(base)
    hostile: Any = base.__new__(kind, *[1] * issubclass(base, np.generic))
    if base is np.random.Generator:
        np.random.Generator.__init__(hostile, np.random.PCG64(1))
    spies.calls.clear()
    with pytest.raises(WireError, match="of type Hostile is not plain data"):
        encode([hostile])
    sent = encode([hostile], lambda value: Ref("object", 1, type_name(value)))
    assert spies.calls == [] and type(hostile) is kind
    assert decode(sent, frozenset({"object"})) == [Ref("object", 1, "Hostile")]


def test_a_generator_over_a_hostile_bit_generator_is_not_plain() -> None:
    spies = Spies()
    kind: Any = type("Bits", (np.random.PCG64,), {})
    generator = np.random.Generator(kind(1))
    kind.state = property(spies._spy("state"))
    with pytest.raises(WireError, match="not plain data"):
        encode(generator)
    assert spies.calls == []


def test_hostile_keys_are_never_hashed_or_compared() -> None:
    spies = Spies()
    kind = spies.subclass(str)
    type.__setattr__(kind, "__hash__", lambda self: 1)
    type.__setattr__(kind, "__eq__", lambda self, other: self is other)
    twice = {str.__new__(kind, "a"): 1, str.__new__(kind, "a"): 2}
    type.__setattr__(kind, "__hash__", spies._spy("__hash__"))
    type.__setattr__(kind, "__eq__", spies._spy("__eq__"))
    spies.calls.clear()
    sent = encode(twice)
    assert spies.calls == []
    refused(sent, "same key twice")


def test_what_runs_in_refer_or_note_cannot_raise_anything_else() -> None:
    def fail(_: object) -> Any:
        raise RecursionError

    with pytest.raises(WireError, match="RecursionError"):
        encode(object(), fail)
    with pytest.raises(WireError, match="RecursionError"):
        encode(np.float64(1), note=fail)


def test_little_room_on_the_stack_is_a_wire_error() -> None:
    nested: Any = 1
    for _ in range(wire.DEPTH_LIMIT):
        nested = [nested]
    outcomes = set()

    def deeper() -> None:
        with contextlib.suppress(RecursionError):
            deeper()
        try:
            encode(nested)
        except WireError:
            outcomes.add("WireError")
        except RecursionError:  # there was no room even to call encode
            raise
        else:
            outcomes.add("sent")

    deeper()
    assert outcomes == {"WireError", "sent"}


# --- limits, each from both sides -------------------------------------------------------------


def test_integers_have_at_most_a_thousand_digits() -> None:
    for sign in (1, -1):
        largest = sign * (10**1000 - 1)
        assert decode(encode(largest)) == largest
        with pytest.raises(WireError, match="1000 digits"):
            encode(sign * 10**1000)
        refused(message(str(sign * 10**1000).encode()), "1000 digits")
    refused(message(b"9" * 5_000_000), "1000 digits")


def nested(levels: int) -> Any:
    value: Any = 0
    for level in range(levels):
        value = [[value], (value,), {0: value}][level % 3]
    return value


def test_containers_are_at_most_twenty_deep() -> None:
    assert same(decode(encode(nested(20))), nested(20))
    with pytest.raises(WireError, match="20 levels"):
        encode(nested(21))
    assert decode(message(b"[" * 20 + b"]" * 20)) is not None
    refused(message(b"[" * 21 + b"]" * 21), "20 levels")


@pytest.mark.parametrize("opening", [b"[", b'{"tuple":[', b'{"":'])
def test_a_very_deep_header_is_refused(opening: bytes) -> None:
    refused(message(opening * 100_000))


def test_cycles_are_refused() -> None:
    inside: list[Any] = []
    inside.append(inside)
    circle: dict[str, Any] = {}
    circle["a"] = (circle,)
    for value in (inside, circle):
        with pytest.raises(WireError, match="holds itself"):
            encode(value)


def test_a_message_holds_at_most_a_hundred_thousand_values() -> None:
    fits = [0] * (10**5 - 1)
    assert decode(encode(fits)) == fits
    for value in ([0] * 10**5, [0] * 10**6, dict.fromkeys(range(50_000))):
        with pytest.raises(WireError, match="100000 values"):
            encode(value)
    refused(message(b"[" + b"0," * (10**5 - 1) + b"0]"), "100000 values")


def test_a_list_that_doubles_at_each_level_is_refused() -> None:
    value: Any = [0]
    for _ in range(19):
        value = [value, value]
    with pytest.raises(WireError, match="100000 values"):
        encode(value)


def test_strings_stay_within_the_header() -> None:
    fits = "a" * (wire.HEADER_LIMIT - 2)
    assert decode(encode(fits)) == fits
    for value in (fits + "a", "é" * (wire.HEADER_LIMIT // 2), ["a" * 2**20] * 99_999):
        with pytest.raises(WireError, match="bytes in the header"):
            encode(value)
    refused(message(b'"' + fits.encode() + b'a"'), "bytes in the header")


def test_brackets_are_counted_before_they_are_parsed() -> None:
    fits = "[" * wire.BRACKET_LIMIT
    assert decode(encode(fits)) == fits
    with pytest.raises(WireError, match="brackets"):
        encode(fits + "{")
    refused(message(b"[" + b"{}," * wire.BRACKET_LIMIT + b"0]"), "brackets")


def test_a_message_holds_at_most_64_mib() -> None:
    header = len(encode(np.zeros(wire.MESSAGE_LIMIT - 1000, np.uint8))) - wire.MESSAGE_LIMIT + 1000
    fits = np.zeros(wire.MESSAGE_LIMIT - header, np.uint8)
    sent = encode(fits)
    assert len(sent) == wire.MESSAGE_LIMIT and decode(sent).shape == fits.shape
    with pytest.raises(WireError, match="bytes in the message"):
        encode(np.zeros(len(fits) + 1, np.uint8))
    refused(sent + b"\0", "bytes in the message")


def test_broadcast_arrays_count_as_they_unpack() -> None:
    row = np.zeros(())
    assert decode(encode(np.broadcast_to(row, (2**23,)))).shape == (2**23,)
    for value in (np.broadcast_to(row, (2**23 + 1,)), [np.broadcast_to(row, (2**22 + 1,))] * 2):
        with pytest.raises(WireError, match="bytes in the message"):
            encode(value)
    header = array_header(shape=[2**23 + 1], order="broadcast", repeated=[0])
    refused(message(header, bytes(8)), "bytes in the message")


@pytest.mark.parametrize(
    ("shape", "too_large"),
    [((0, 2**26), (0, 2**26 + 1)), ((2**25, 0, 2), (2**25, 0, 3))],
)
def test_dimensions_count_also_beside_a_zero(
    shape: tuple[int, ...], too_large: tuple[int, ...]
) -> None:
    assert decode(encode(np.empty(shape))).shape == shape
    with pytest.raises(WireError, match="elements"):
        encode(np.empty(too_large))
    refused(message(array_header(shape=list(too_large))), "elements")


def test_huge_dimensions_are_refused_whatever_their_size() -> None:
    for shape in ([0, 10**12], [10**999, 0], [2**63, 2**63], [10**999] * 32):
        refused(message(array_header(shape=shape)), "elements")


def test_arrays_have_at_most_32_dimensions() -> None:
    assert decode(encode(np.ones((1,) * 32))).shape == (1,) * 32
    with pytest.raises(WireError, match="32 dimensions"):
        encode(np.ones((1,) * 33))
    refused(message(array_header(shape=[1] * 33), bytes(8)), "32 dimensions")


def test_keys_with_one_hash_are_few() -> None:
    prime = sys.hash_info.modulus
    fits = {n * prime: n for n in range(wire.COLLISION_LIMIT)}
    assert decode(encode(fits)) == fits
    refused(message({"dict": [[n * prime, 0] for n in range(17)]}), "same hash")
    refused(message({"dict": [[n * prime, 0] for n in range(49_000)]}), "same hash")
    pairs = [[{"tuple": [n * prime]}, 0] for n in range(24_000)]
    refused(message({"dict": pairs}), "same hash")


@pytest.mark.parametrize("key", [np.float32(1), np.array, (1, object())])
def test_a_key_that_cannot_be_one_over_there_is_refused(key: Any) -> None:
    with pytest.raises(WireError, match="dict's key"):
        encode({key: 1}, lambda _: Ref("object", 1, "x"))


# --- malformed messages -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "body", "rule"),
    [
        (array_header(dtype="|O"), bytes(16), "dtype"),
        (array_header(dtype="O"), bytes(16), "dtype"),
        (array_header(dtype="<M8[s]"), bytes(16), "dtype"),
        (array_header(dtype="f8,f8"), bytes(32), "dtype"),
        (array_header(dtype="<U4"), bytes(32), "dtype"),
        (array_header(dtype=["<f8"]), bytes(16), "dtype"),
        (array_header(shape=[-2]), b"", "negative"),
        (array_header(shape=[True]), bytes(8), "list of int"),
        (array_header(shape=[2.0]), bytes(16), "list of int"),
        (array_header(shape=2), bytes(16), "shape"),
        (array_header(order="K"), bytes(16), "order"),
        (array_header(order="strided", shape=[]), bytes(8), "without axes"),
        (array_header(order="broadcast"), bytes(16), "repeated axes"),
        (array_header(repeated=[0]), bytes(8), "repeated axes"),
        (array_header(order="broadcast", repeated=[1]), bytes(8), "repeated axes"),
        (array_header(order="broadcast", repeated=[-1]), bytes(8), "repeated axes"),
        (array_header(order="broadcast", repeated=[False]), bytes(8), "list of int"),
        (array_header(order="broadcast", repeated=[0, 0]), bytes(8), "repeated axes"),
        (array_header(order="broadcast", repeated=[0], shape=[1]), bytes(8), "repeated axes"),
        (array_header(writeable=1), bytes(16), "writeable"),
        (array_header(more=1), bytes(16), "fields"),
        (array_header(), bytes(15), "ends before its arrays"),
        (array_header(), bytes(17), "left over"),
        (array_header(dtype="|b1"), b"\x01\x02", "bool array"),
        ([array_header(), array_header()], bytes(31), "ends before its arrays"),
        ({"array": []}, b"", "fields"),
        ({"tuple": 1}, b"", "not a list"),
        ({"tuple": {"tuple": []}}, b"", "not a list"),
        ({"complex": [1, 2]}, b"", "list of float"),
        ({"complex": [1.0]}, b"", "cannot be read"),
        ({"dict": [[1]]}, b"", "cannot be read"),
        ({"dict": {"a": 1}}, b"", "list of list"),
        ({"dict": [[[1], 1]]}, b"", "dict's key"),
        ({"dict": [[{"tuple": [[1]]}, 1]]}, b"", "dict's key"),
        ({"dict": [[array_header(), 1]]}, bytes(16), "dict's key"),
        ({"dict": [[1, 1], [True, 2]]}, b"", "same key twice"),
        ({"list": []}, b"", "unknown tag"),
        ({"tuple": [], "dict": []}, b"", "exactly one key"),
        ({}, b"", "exactly one key"),
        (b"", b"", "cannot be read"),
        (b"1 2", b"", "cannot be read"),
        (b"\xff", b"", "cannot be read"),
        (b"\xef\xbb\xbf1", b"", "cannot be read"),
        ('"a"'.encode("utf-16"), b"", "cannot be read"),
    ],
)
def test_a_malformed_message_is_refused(header: Any, body: bytes, rule: str) -> None:
    refused(message(header, body), rule)


@given(st.binary(max_size=200))
@settings(deadline=None)
def test_random_bytes_raise_nothing_but_wire_errors(data: bytes) -> None:
    attempt(data)
    attempt(message(data))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 40) | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from([*wire._READERS, "", "kind"]), inner, max_size=2)
        | st.builds(
            array_header,
            dtype=st.sampled_from([*wire.DTYPES, "|O"]) | inner,
            shape=st.lists(st.integers(0, 5), max_size=4) | inner,
            order=st.sampled_from(["C", "F", "strided", "broadcast"]) | inner,
            repeated=st.lists(st.integers(0, 3), max_size=3) | inner,
        )
    ),
    max_leaves=15,
)


@given(json_values, st.binary(max_size=100))
@settings(max_examples=300, deadline=None)
def test_random_headers_raise_nothing_but_wire_errors(header: Any, body: bytes) -> None:
    attempt(message(header, body))


@given(values, st.data())
@settings(max_examples=300, deadline=None)
def test_damaged_messages_raise_nothing_but_wire_errors(value: Any, data: st.DataObject) -> None:
    generator = np.random.Generator(data.draw(st.sampled_from([*wire.BIT_GENERATORS.values()]))(1))
    sent = bytearray(encode([value, generator]))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(sent) - 1) if len(sent) > 1 else st.just(0))
        match data.draw(st.sampled_from(["change", "digit", "cut", "drop", "repeat"])):
            case "change":
                sent[place : place + 1] = data.draw(st.binary(min_size=1, max_size=1))
            case "digit":
                sent[place : place + 1] = data.draw(st.sampled_from([b"9", b"0", b"-", b"["]))
            case "cut":
                del sent[place:]
            case "drop":
                del sent[place : place + data.draw(st.integers(1, 8))]
            case "repeat":
                sent[place:place] = sent[place : place + 20]
    attempt(bytes(sent))


@given(values)
@settings(max_examples=20, deadline=None)
def test_every_shortened_or_lengthened_message_is_refused(value: Any) -> None:
    sent = encode(value)
    for length in range(max(0, len(sent) - 300), len(sent)):
        refused(sent[:length])
    refused(sent + b"\0", "left over")


def attempt(data: bytes) -> None:
    """Decode, accepting all there is; use what comes, so that wild memory would be noticed."""
    try:
        value = decode(data, frozenset({"object", "function", ""}), generators=True)
    except WireError:
        return
    use(value)


def use(value: Any) -> None:
    if isinstance(value, np.ndarray):
        assert value.nbytes <= wire.MESSAGE_LIMIT and len(value.tobytes()) == value.nbytes
    elif isinstance(value, np.random.Generator):
        value.random(1300)
    elif isinstance(value, list | tuple):
        for item in value:
            use(item)
    elif isinstance(value, dict):
        use(list(value.values()))


# --- memory -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        message(array_header(shape=[2**23])),
        message(array_header(shape=[2**22], order="strided")),
        message(array_header(shape=[2**23], order="broadcast", repeated=[0]), bytes(8)),
        struct.pack(">I", 2**32 - 1),
        message([array_header(shape=[2**20])] * 8),
    ],
)
def test_announced_sizes_cost_no_memory(data: bytes) -> None:
    assert peak_while_decoding(data) < 2**20


@pytest.mark.parametrize(
    "piece", [b"[],", b'{"":0},', b"[0],", b"1e1,", b'"\\u0000",', b'{"tuple":[]},', b"[[[[0]]]],"]
)
def test_no_header_takes_more_than_a_few_times_the_limit(piece: bytes) -> None:
    opening = piece.count(b"[") + piece.count(b"{")
    count = wire.BRACKET_LIMIT // opening - 1 if opening else wire.HEADER_LIMIT
    header = b"[" + piece * min(count, (wire.HEADER_LIMIT - 9) // len(piece))
    filling = b"1e1," * ((wire.HEADER_LIMIT - len(header) - 9) // 4)
    assert peak_while_decoding(message(header + filling + b"0]")) < 3 * wire.MESSAGE_LIMIT


def test_an_encoder_spends_little_on_what_it_refuses() -> None:
    text = "a" * 2**20
    big = np.zeros(2**23 - 1000)
    shared = [[[text] * 300] * 300] * 300
    tracemalloc.start()
    for value in (
        shared,
        [10**999] * 99_999,
        [big, big],
        [0] * 10**6,
        np.broadcast_to(0.0, (10**12,)),
    ):
        with pytest.raises(WireError):
            encode(value)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * wire.MESSAGE_LIMIT


# --- same -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (0.0, -0.0),
        (1, 1.0),
        (1, True),
        (1.0, 1 + 0j),
        (complex(0.0, 0.0), complex(0.0, -0.0)),
        ([1], (1,)),
        ([1], [1, 2]),
        ([[1.0]], [[2.0]]),
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"b": 1}),
        ({1: 0}, {1.0: 0}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ("a", "b"),
        (None, False),
        (struct.unpack("d", b"\x01" + b"\0" * 5 + b"\xf8\x7f")[0], math.nan),
        (1.0, np.float64(1.0)),
        (np.zeros(2), np.zeros((1, 2))),
        (np.zeros(2), np.zeros(2, np.float32)),
        (np.zeros(2), np.zeros(2, np.int64)),
        (np.zeros(2), -np.zeros(2)),
        (np.zeros(2), [0.0, 0.0]),
        (np.zeros(2, np.longdouble), -np.zeros(2, np.longdouble)),
        (object(), object()),
    ],
)
def test_different_data_are_not_the_same(left: Any, right: Any) -> None:
    assert not same(left, right)
    assert not same(right, left)


def test_layout_and_writeability_are_not_data() -> None:
    array = np.arange(6.0).reshape(2, 3)
    fixed = np.asfortranarray(array)
    fixed.flags.writeable = False
    assert same(array, fixed)
    assert same(np.broadcast_to(1.0, (2, 2)), np.ones((2, 2)))


@pytest.mark.parametrize("code", "gG")
def test_padding_inside_long_doubles_does_not_count(code: str) -> None:
    if wire.LONG.itemsize == wire.LONG_BYTES:
        pytest.skip("long doubles have no padding on this machine")
    array = np.arange(6).astype(code)
    soiled = array.copy()
    soiled.view(np.uint8).reshape(-1, 16)[:, 10:] = 0xAB
    assert same(array, soiled)
    assert encode(array) == encode(soiled)
    soiled[3] += 1
    assert not same(array, soiled)


def test_nothing_of_a_hostile_object_runs_when_compared() -> None:
    spies = Spies()
    hostile = list.__new__(spies.subclass(list))
    other = object.__new__(spies.subclass(object))
    spies.calls.clear()
    assert not same([[], {}], [hostile, other])
    assert not same([hostile], [[]])
    assert same([other], [other])
    assert spies.calls == []


@given(arrays(), st.data())
@settings(deadline=None)
def test_a_single_changed_bit_is_seen(array: np.ndarray, data: st.DataObject) -> None:
    changed = array.copy("C")
    if array.dtype.char in "?gG" or not array.size:
        return
    place = data.draw(st.integers(0, changed.nbytes - 1))
    changed.reshape(-1).view(np.uint8)[place] ^= 1 << data.draw(st.integers(0, 7))
    assert not same(array, changed)
