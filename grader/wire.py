"""Plain data as bytes and back: all that ever crosses between student code and a check.

Knows nothing of calls, checks or processes. Nothing is unpickled, and no name is looked up that
the other side chose. The format is described in docs/wire.md."""

import json
import math
import re
import struct
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

HEADER_LENGTH = struct.Struct(">I")

# What one message may hold. Sender and receiver count alike, so what one sends the other takes.
MESSAGE_LIMIT = 64 * 2**20  # bytes; the arrays are counted as they unpack, broadcast ones too
HEADER_LIMIT = 8 * 2**20  # bytes; strings live in the header, so this bounds them as well
ITEM_LIMIT = 10**5  # values in all: the outermost, those inside containers, keys of dicts
BRACKET_LIMIT = 4 * ITEM_LIMIT  # no value needs more; parsed brackets take 30 times their bytes
DEPTH_LIMIT = 20  # containers inside one another; ends cycles too
DIGIT_LIMIT = 1000  # of one integer; reading decimal digits takes quadratic time
AXIS_LIMIT = 32  # dimensions of one array, as many as every NumPy allows
SIZE_LIMIT = 2**26  # product of an array's non-zero dimensions, so (0, 10**12) is refused too
COLLISION_LIMIT = 16  # keys of one dict with the same hash; n of them cost n² comparisons
NUMBER_LIMIT = 2**31  # number of a reference
NAME_LIMIT = 100  # characters of a type's name

DTYPE_CODES = "?bBhHiIlLqQefdgFDG"  # bool, integers, floats and complex numbers of every size
DTYPES = {np.dtype(code).str: np.dtype(code) for code in DTYPE_CODES}
DTYPE_KINDS = "biufc"
SCALAR_TYPES = tuple({np.dtype(code).type for code in DTYPE_CODES})
LONG = np.dtype(np.longdouble)
LONG_BYTES = 10 if np.finfo(LONG).nmant == 63 else LONG.itemsize  # the rest of x87's 16 is padding

BIT_GENERATORS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        np.random.PCG64,
        np.random.PCG64DXSM,
        np.random.MT19937,
        np.random.Philox,
        np.random.SFC64,
    )
}
# Places in a bit generator's own buffer. NumPy takes any number and then reads out of bounds.
PLACES = {"pos": 624, "buffer_pos": 4, "has_uint32": 1}

LARGEST_INTEGER = 10**DIGIT_LIMIT - 1
TOO_MANY_DIGITS = f"an integer of more than {DIGIT_LIMIT} digits"
SURROGATE = re.compile("[\ud800-\udfff]")
_NAME_OF_TYPE = type.__dict__["__name__"]
_BITS_OF_GENERATOR = np.random.Generator.__dict__["bit_generator"]


class WireError(ValueError):
    """A value that may not be sent, or bytes that are no message; says which rule was broken."""


@dataclass(frozen=True)
class Ref:
    """Stands for an object that stays where it is: its kind, its number there, its type's name."""

    kind: str
    number: int
    type_name: str


def encode(
    value: object,
    refer: Callable[[object], Ref] | None = None,
    note: Callable[[str], None] | None = None,
) -> bytes:
    """`value` as one message, without running any code of the objects in it.

    `refer` makes a Ref for an object that is not plain data; `note` is told the class name of
    each value that travels as another type, its base. Raises WireError, and nothing else.
    """
    try:
        writer = _Writer(refer, note)
        header = _JSON.encode(writer.node(value, 0))
        packed = header.encode()
        _check_header(packed)
        message = b"".join([HEADER_LENGTH.pack(len(packed)), packed, *writer.arrays])
    except WireError:
        raise
    except Exception as error:
        raise WireError(f"the value cannot be sent ({type(error).__name__})") from error
    _at_most(len(message), MESSAGE_LIMIT, "bytes in the message")
    return message


def decode(message: bytes, refs: frozenset[str] = frozenset(), generators: bool = False) -> Any:
    """The value in `message`, made of fresh objects; arrays have the layout the header names.

    A Ref is accepted if its kind is in `refs`, a NumPy Generator if `generators` is true.
    Raises WireError, and nothing else, whatever the bytes are.
    """
    try:
        _at_most(len(message), MESSAGE_LIMIT, "bytes in the message")
        start = HEADER_LENGTH.size
        (length,) = HEADER_LENGTH.unpack(message[:start])
        _require(start + length <= len(message), "the message ends before its header")
        packed = message[start : start + length]
        _check_header(packed)
        reader = _Reader(message, start + length, refs, generators)
        value = reader.value(_JSON_READER.decode(packed.decode()), 0)
        _require(reader.position == len(message), "bytes are left over after the arrays")
    except WireError:
        raise
    except Exception as error:
        raise WireError(f"the message cannot be read ({type(error).__name__})") from error
    return value


def same(left: object, right: object) -> bool:
    """Whether two pieces of plain data are equal to the last bit and of exactly the same types.

    -0.0 differs from 0.0, NaN equals NaN of the same bits, dicts are compared in their order.
    Objects of other types are the same only if they are one object.
    """
    if type(left) is not type(right):
        return False
    compare = _SAME.get(type(left)) if type(type(left)) is type else None
    return compare(left, right) if compare else left is right


def type_name(value: object) -> str:
    """The name of the value's type, cut to what may cross: printable and of bounded length."""
    return _printable(str.__str__(_NAME_OF_TYPE.__get__(type(value))))


# --- rules that both sides keep ---------------------------------------------------------------


def _require(holds: bool, rule: str) -> None:
    if not holds:
        raise WireError(rule)


def _at_most(count: int, limit: int, what: str) -> None:
    if count > limit:
        raise WireError(f"more than {limit} {what}")


def _check_header(packed: bytes) -> None:
    _at_most(len(packed), HEADER_LIMIT, "bytes in the header")
    _at_most(packed.count(b"[") + packed.count(b"{"), BRACKET_LIMIT, "brackets in the header")


def _text(text: str) -> str:
    if not text.isascii():
        _require(not SURROGATE.search(text), "a string holds half of a surrogate pair")
    return text


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text[:NAME_LIMIT])


def _is_key(node: Any) -> bool:
    """Whether a node of the header may be a key: a number, a string, None, or a tuple of such."""
    if type(node) is dict:
        return "complex" in node or ("tuple" in node and all(map(_is_key, node["tuple"])))
    return type(node) is not list


class _Budget:
    """Counts what a message holds, and stops at its limits before memory is spent."""

    def __init__(self) -> None:
        self.items = 1
        self.text = 0
        self.array_bytes = 0

    def take_items(self, count: int, depth: int) -> int:
        """Account for a container `depth` levels inside; return the depth of what it holds."""
        self.items += count
        _at_most(self.items, ITEM_LIMIT, "values in the message")
        _at_most(depth + 1, DEPTH_LIMIT, "levels of containers (or one that holds itself)")
        return depth + 1

    def take_text(self, characters: int) -> None:
        self.text += characters
        _at_most(self.text, HEADER_LIMIT, "bytes in the header")

    def take_array(self, shape: Iterable[int], itemsize: int) -> None:
        shape = list(shape)
        _at_most(len(shape), AXIS_LIMIT, "dimensions")
        _at_most(math.prod(n for n in shape if n), SIZE_LIMIT, "elements in an array's dimensions")
        self.array_bytes += math.prod(shape) * itemsize
        _at_most(self.array_bytes, MESSAGE_LIMIT, "bytes in the message")


# --- values to bytes --------------------------------------------------------------------------


class _Writer(_Budget):
    """Makes the header's tree of one message and collects the bytes of its arrays.

    Types are read with `type` and `issubclass`, contents with the base types' own methods: a
    student's class may lie in `__class__` and override everything else.
    """

    def __init__(
        self, refer: Callable[[object], Ref] | None, note: Callable[[str], None] | None
    ) -> None:
        super().__init__()
        self.arrays: list[bytes] = []
        self._refer = refer
        self._note = note

    def node(self, value: Any, depth: int) -> Any:
        """`value` as a node of the header. A writer that returns None found no plain data."""
        kind = type(value)
        if kind is float or kind is bool or value is None:
            return value
        for base, write in _WRITERS:
            if issubclass(kind, base):
                node = write(self, value, depth)
                if node is None:
                    break
                if kind is not base and self._note:
                    self._note(type_name(value))
                return node
        return self._reference(value)

    def _reference(self, value: object) -> Any:
        if self._refer is None:
            raise WireError(f"an object of type {type_name(value)} is not plain data")
        ref = self._refer(value)
        return _tagged("ref", kind=ref.kind, number=ref.number, type=_printable(ref.type_name))

    def write_float(self, value: float, depth: int) -> Any:
        return float.__float__(value)

    def write_integer(self, value: int, depth: int) -> Any:
        number = int.__int__(value)
        _require(-LARGEST_INTEGER <= number <= LARGEST_INTEGER, TOO_MANY_DIGITS)
        self.take_text(number.bit_length() // 4)
        return number

    def write_string(self, value: str, depth: int) -> Any:
        self.take_text(str.__len__(value))
        return _text(str.__str__(value))

    def write_complex(self, value: complex, depth: int) -> Any:
        number = complex.__complex__(value)
        return {"complex": [number.real, number.imag]}

    def write_list(self, value: list[Any], depth: int) -> Any:
        inside = self.take_items(list.__len__(value), depth)
        return [self.node(item, inside) for item in list.copy(value)]

    def write_tuple(self, value: tuple[Any, ...], depth: int) -> Any:
        inside = self.take_items(tuple.__len__(value), depth)
        return {"tuple": [self.node(item, inside) for item in tuple.__iter__(value)]}

    def write_dict(self, value: dict[Any, Any], depth: int) -> Any:
        inside = self.take_items(2 * dict.__len__(value), depth)
        pairs = [
            [self.node(key, inside), self.node(item, inside)]
            for key, item in list(dict.items(value))
        ]
        for key, _ in pairs:
            _require(_is_key(key), "a dict's key is neither number, string nor tuple of such")
        return {"dict": pairs}

    def write_array(self, value: np.ndarray, depth: int) -> Any:
        array = np.ndarray.view(value, np.ndarray)
        if array.dtype.kind not in DTYPE_KINDS:
            return None
        self.take_array(array.shape, array.dtype.itemsize)
        order, repeated = _layout(array)
        native = array.dtype.newbyteorder("=")
        once = _without_repeats(array, repeated).astype(native, copy=False)
        self.arrays.append(_raw(once, "F" if order == "F" else "C"))
        return _tagged(
            "array",
            dtype=native.str,
            shape=list(array.shape),
            order=order,
            repeated=repeated,
            writeable=array.flags.writeable,
        )

    def write_scalar(self, value: np.generic, depth: int) -> Any:
        # A student's own subclass could choose the dtype that NumPy then reads its memory by.
        if not _is_one_of(type(value), SCALAR_TYPES):
            return None
        return self.write_array(np.array(value), depth)

    def write_generator(self, value: np.random.Generator, depth: int) -> Any:
        bits = _BITS_OF_GENERATOR.__get__(value)
        numpys_own = _is_one_of(type(bits), BIT_GENERATORS.values())
        if type(value) is not np.random.Generator or not numpys_own:
            return None
        return {"generator": self.node(bits.state, depth)}


# In this order, since np.float64 is a float and np.complex128 a complex as well as a np.generic.
_WRITERS: tuple[tuple[type, Callable[[_Writer, Any, int], Any]], ...] = (
    (np.ndarray, _Writer.write_array),
    (float, _Writer.write_float),
    (int, _Writer.write_integer),
    (str, _Writer.write_string),
    (list, _Writer.write_list),
    (tuple, _Writer.write_tuple),
    (dict, _Writer.write_dict),
    (complex, _Writer.write_complex),
    (np.generic, _Writer.write_scalar),
    (np.random.Generator, _Writer.write_generator),
)
_JSON = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"))


def _is_one_of(kind: type, known: Iterable[type]) -> bool:
    """Whether `kind` is in `known`, without asking a metaclass for its idea of equality."""
    return any(kind is other for other in known)


def _tagged(tag: str, **fields: Any) -> dict[str, Any]:
    return {tag: fields}


def _layout(array: np.ndarray) -> tuple[str, list[int]]:
    """How the array lies in memory, and the axes along which one place is read repeatedly."""
    if array.flags.c_contiguous:
        return "C", []
    if array.flags.f_contiguous:
        return "F", []
    lengths = zip(array.shape, array.strides, strict=True)
    repeated = [axis for axis, (n, stride) in enumerate(lengths) if n > 1 and stride == 0]
    return ("broadcast" if repeated else "strided"), repeated


def _without_repeats(array: np.ndarray, repeated: list[int]) -> np.ndarray:
    if not repeated:
        return array
    return array[tuple(slice(1) if n in repeated else slice(None) for n in range(array.ndim))]


def _raw(array: np.ndarray, order: Any = "C") -> bytes:
    """The array's bytes in this order; padding inside long doubles, which nobody wrote, is zero."""
    if array.dtype.char not in "gG" or LONG.itemsize == LONG_BYTES:
        return array.tobytes(order)
    numbers = np.frombuffer(bytearray(array.tobytes(order)), np.uint8).reshape(-1, LONG.itemsize)
    numbers[:, LONG_BYTES:] = 0
    return numbers.tobytes()


# --- bytes to values --------------------------------------------------------------------------


class _Reader(_Budget):
    """Makes values of a parsed header and of the array bytes from `position` on."""

    def __init__(
        self, message: bytes, position: int, refs: frozenset[str], generators: bool
    ) -> None:
        super().__init__()
        self.position = position
        self._message = message
        self._refs = refs
        self._generators = generators

    def value(self, node: Any, depth: int) -> Any:
        """The value that a node of the header stands for."""
        kind = type(node)
        if kind is str:
            return _text(node)
        if kind is list:
            inside = self.take_items(len(node), depth)
            return [self.value(item, inside) for item in node]
        if kind is not dict:
            return node
        _require(len(node) == 1, "a tagged object has not exactly one key")
        ((tag, content),) = node.items()
        _require(tag in _READERS, "a tagged object has an unknown tag")
        return _READERS[tag](self, content, depth)

    def read_complex(self, content: Any, depth: int) -> complex:
        real, imaginary = _list_of(content, float)
        return complex(real, imaginary)

    def read_tuple(self, content: Any, depth: int) -> tuple[Any, ...]:
        _require(type(content) is list, "the content of a tuple is not a list")
        return tuple(self.value(content, depth))

    def read_dict(self, content: Any, depth: int) -> dict[Any, Any]:
        inside = self.take_items(2 * len(_list_of(content, list)), depth)
        pairs = [(self._key(key, inside), self.value(item, inside)) for key, item in content]
        _refuse_collisions([key for key, _ in pairs])
        made = dict(pairs)
        _require(len(made) == len(pairs), "a dict has the same key twice")
        return made

    def _key(self, node: Any, depth: int) -> Any:
        key = self.value(node, depth)
        _require(_is_key(node), "a dict's key is neither number, string nor tuple of such")
        return key

    def read_array(self, content: Any, depth: int) -> np.ndarray:
        name, shape, order, repeated, writeable = _fields(
            content, dtype=str, shape=list, order=str, repeated=list, writeable=bool
        )
        _require(name in DTYPES, "an array's dtype is none of bool, integer, float or complex")
        _require(min(_list_of(shape, int), default=0) >= 0, "an array's dimension is negative")
        self.take_array(shape, DTYPES[name].itemsize)
        _check_repeated(shape, order, repeated)
        once = [1 if axis in repeated else length for axis, length in enumerate(shape)]
        array = _laid_out(self._next_array(once, DTYPES[name], order), order, shape, repeated)
        array.flags.writeable = writeable
        return array

    def _next_array(self, shape: list[int], dtype: np.dtype, order: str) -> np.ndarray:
        """The next bytes of the message, read as an array of this shape; a view, not a copy."""
        start = self.position
        self.position += math.prod(shape) * dtype.itemsize
        _require(self.position <= len(self._message), "the message ends before its arrays")
        if start == self.position:
            return np.empty(shape, dtype)
        memory_order: Any = "F" if order == "F" else "C"
        array = np.ndarray(tuple(shape), dtype, self._message, start, order=memory_order)
        if dtype.kind == "b":
            _require(array.view(np.uint8).max() <= 1, "a bool array holds a byte above 1")
        return array

    def read_generator(self, content: Any, depth: int) -> np.random.Generator:
        _require(self._generators, "a generator is not accepted here")
        state = self.value(content, depth)
        name = state["bit_generator"]
        _require(name in BIT_GENERATORS, "a generator is none of NumPy's own")
        bits = BIT_GENERATORS[name](0)
        _require(_fits(state, bits.state), "a generator's state has the wrong form")
        bits.state = state
        return np.random.Generator(bits)

    def read_ref(self, content: Any, depth: int) -> Ref:
        kind, number, name = _fields(content, kind=str, number=int, type=str)
        _require(kind in self._refs, "a reference of this kind is not accepted here")
        _require(0 <= number <= NUMBER_LIMIT, "a reference's number is out of range")
        _require(name == _printable(name), "a type's name is too long or not printable")
        return Ref(kind, number, name)


_READERS: dict[str, Callable[[_Reader, Any, int], Any]] = {
    "tuple": _Reader.read_tuple,
    "dict": _Reader.read_dict,
    "complex": _Reader.read_complex,
    "array": _Reader.read_array,
    "generator": _Reader.read_generator,
    "ref": _Reader.read_ref,
}


def _integer(digits: str) -> int:
    _require(len(digits) <= DIGIT_LIMIT + digits.startswith("-"), TOO_MANY_DIGITS)
    return int(digits)


_JSON_READER = json.JSONDecoder(parse_int=_integer)


def _fields(content: Any, **types: type) -> list[Any]:
    """The content of a tagged object: exactly these fields, each of exactly this type."""
    if type(content) is not dict or content.keys() != types.keys():
        raise WireError(f"a tagged object has not the fields {', '.join(types)}")
    for name, kind in types.items():
        if type(content[name]) is not kind:
            raise WireError(f"the field {name} is no {kind.__name__}")
    return [content[name] for name in types]


def _list_of(content: Any, kind: type) -> list[Any]:
    if type(content) is not list or any(type(item) is not kind for item in content):
        raise WireError(f"something else stands for a list of {kind.__name__}")
    return content


def _refuse_collisions(keys: list[Any]) -> None:
    if len(keys) > COLLISION_LIMIT:
        ((_, shared),) = Counter(map(hash, keys)).most_common(1)
        _at_most(shared, COLLISION_LIMIT, "keys of a dict with the same hash")


def _check_repeated(shape: list[int], order: str, repeated: list[Any]) -> None:
    _require(order in ("C", "F", "strided", "broadcast"), "an array's order is unknown")
    _require(bool(repeated) is (order == "broadcast"), "repeated axes belong to broadcast arrays")
    _at_most(len(_list_of(repeated, int)), len(shape), "repeated axes")
    axes = [axis for axis, length in enumerate(shape) if length > 1 and axis in repeated]
    _require(repeated == axes, "repeated axes are not axes of length 2 or more, in order")
    _require(bool(shape) or order != "strided", "an array without axes is not strided")


def _laid_out(array: np.ndarray, order: str, shape: list[int], repeated: list[int]) -> np.ndarray:
    """A copy of `array` in fresh memory of this layout."""
    if order == "strided":
        gapped = np.zeros((*shape[:-1], 2 * shape[-1]), array.dtype)[..., ::2]
        gapped[...] = array
        return gapped
    copied = array.copy("F" if order == "F" else "C")
    if order != "broadcast":
        return copied
    strides = [0 if axis in repeated else step for axis, step in enumerate(copied.strides)]
    return np.ndarray(tuple(shape), array.dtype, copied, strides=tuple(strides))


def _fits(state: Any, model: Any, largest: float = math.inf) -> bool:
    """Whether a bit generator's state has the form of `model`, its places in their buffers."""
    if type(state) is not type(model):
        return False
    if type(model) is dict:
        return list(state) == list(model) and all(
            _fits(state[name], model[name], PLACES.get(name, math.inf)) for name in model
        )
    if type(model) is np.ndarray:
        return bool(state.shape == model.shape and state.dtype == model.dtype)
    return type(model) is not int or 0 <= state <= largest


# --- equal to the last bit --------------------------------------------------------------------


def _same_floats(left: float, right: float) -> bool:
    return struct.pack("d", left) == struct.pack("d", right)


def _same_complexes(left: complex, right: complex) -> bool:
    return _same_floats(left.real, right.real) and _same_floats(left.imag, right.imag)


def _same_items(left: Any, right: Any) -> bool:
    return len(left) == len(right) and all(map(same, left, right))


def _same_dicts(left: dict[Any, Any], right: dict[Any, Any]) -> bool:
    return _same_items(left, right) and all(map(same, left.values(), right.values()))


def _same_arrays(left: np.ndarray, right: np.ndarray) -> bool:
    return left.shape == right.shape and left.dtype == right.dtype and _raw(left) == _raw(right)


_SAME: dict[type, Callable[[Any, Any], bool]] = {
    int: int.__eq__,
    str: str.__eq__,
    float: _same_floats,
    complex: _same_complexes,
    list: _same_items,
    tuple: _same_items,
    dict: _same_dicts,
    np.ndarray: _same_arrays,
}
