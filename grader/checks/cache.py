"""Lesson 08: what KVCache, decode_step and position_ids must do.

Expected values come from the oracle. A check of decode_step takes the student's own cache as it
is, so that a mistake in the cache costs the cache's points; `chunkings` alone asks for both."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from grader import oracle
from grader.checks.ask import FLOAT32, FLOAT64, Answer, asking, kind_of, passed
from grader.checks.diagnose import graded
from grader.checks.script import (
    OUTPUTS,
    OVERWRITTEN,
    Append,
    AppendThenOverwrite,
    Growth,
    Length,
    New,
    Read,
    Step,
    pieces,
    scripting,
)
from grader.checks.shrink import on_smallest
from grader.misconceptions import cache as _named  # noqa: F401  (registers them)
from grader.seeds import generator

ask = scripting("KVCache")
ask_step = scripting("decode_step", "KVCache")
ask_positions = asking("position_ids")

READ = (Read("keys"), Read("values"))
HALVES = 2 * [slice(0, 4)] + 2 * [slice(4, 10)]
Three = tuple[np.ndarray, np.ndarray, np.ndarray]  # queries, keys, values
SHARED = "two caches share what they hold"

# --- KVCache ----------------------------------------------------------------------------------


@graded("KVCache", about="separate")
def cache_separate(KVCache: Any) -> None:
    """Two caches: what goes into one does not make the other longer."""
    K = generator("cache_separate").integers(1, 9, (2, 3)) + 0.5
    why = "Only `first` was given something. Two texts that are written at once need two caches."
    begin = (New(cache="first"), New(cache="second"), Append(K, K, cache="second"))
    grown = Growth(Append(K, K, cache="first"), cache="second")
    seen = ask(KVCache, *begin, grown)[-1]
    seen.demand(seen.value == 0, SHARED, why, 0)
    passed("two caches know nothing of each other", seen)


@graded("KVCache", about="content")
def cache_holds(KVCache: Any) -> None:
    """One sequence: the keys and values of all chunks, in order; and another beside it."""
    one, two = np.array([[1.0, 2.0]]), np.array([[5.0, 6.0]])
    ten, twenty = np.array([[10.0]]), np.array([[20.0]])
    script = (New(), Append(one, ten), *READ, Append(two, twenty), *READ)
    _, _, keys, values, _, *both = ask(KVCache, *script)
    _must_hold(keys, values, one, ten)
    _must_hold(both[0], both[1], np.vstack([one, two]), np.vstack([ten, twenty]))
    _must_gather(KVCache, (), _shuffled("cache_holds", 2, 1, 1))
    beside = (
        New(cache="first"),
        New(cache="second"),
        Append(one, ten, cache="first"),
        Append(two, twenty, cache="second"),
    )
    for what, mine in (("keys", one), ("values", ten)):
        seen = ask(KVCache, *beside, Read(what, cache="first"))[-1]
        found = seen.must_be_array(mine.shape)
        why = "The other chunk went into another cache, which belongs to another text."
        seen.must_equal(found, mine, SHARED, why)
    passed("the cache holds all keys and values, in order", seen)


@graded("KVCache", about="batch")
def cache_batch(KVCache: Any) -> None:
    """Any axes in front: the chunks are joined along the positions."""
    sizes = _shuffled("cache_batch", 2, 1, 1)
    _must_gather(KVCache, (2,), [1, 1])
    for lead in ((2,), (3, 2), (1, 1)):
        seen = _must_gather(KVCache, lead, sizes)
    passed("the cache joins chunks along the positions, with any axes in front", *seen)


@graded("KVCache", about="length")
def cache_counts(KVCache: Any) -> None:
    """len is the number of positions: 0 at first, whatever the chunks and the axes in front."""
    seen = ask(KVCache, New(), Length())[-1]
    why = "len(cache) is the number of tokens that the cache holds; a new one holds none."
    seen.demand(seen.value == 0, "wrong length", why, 0)
    first, more, _ = _shuffled("cache_counts", 2, 3, 4)
    for lead in ((), (6,), (6, 7)):
        for sizes in ([first],) if lead else ([first], [first, more]):
            length = sum(sizes)
            K, V = np.ones((*lead, length, 2)), np.ones((*lead, length, 3))
            seen = ask(KVCache, New(), Append(K, V, pieces(sizes, length)), Length())[-1]
            why = f"{length} tokens were appended, in {len(sizes)} chunk(s): n is axis −2 of k."
            seen.demand(seen.value == length, "wrong length", why, length)
    passed("len(cache) is the number of tokens in it", seen)


@graded("KVCache", about="copies")
def cache_copies(KVCache: Any) -> None:
    """What the caller does to its arrays after append changes nothing in the cache."""
    why = "The caller wrote over its own k and v after append, and the cache changed with them."
    K, V = _two(_stack("cache_copies", (2, 5)))
    first, later = AppendThenOverwrite(K, V), AppendThenOverwrite(V, K)
    for script in ((first,), (Append(V, K), later), (Append(V[:1], K[:1]), later, Append(V, K))):
        for read in READ:
            seen = ask(KVCache, New(), *script, read)[-1]
            spoilt = np.isin(OVERWRITTEN, _numbers_of(seen)).any()
            seen.demand(not spoilt, "no copy", why)
    passed("append copies what it is given", seen)


@graded("KVCache", about="long")
def cache_remembers(KVCache: Any) -> None:
    """Many tokens, in many calls: nothing is forgotten."""
    sizes = [1] * 10 + _shuffled("cache_remembers", 2, 1, 12, 1, 4)
    numbers = generator("cache_remembers").permutation(sum(sizes)) + 1.0
    why = "Every token that was appended is still needed: each later token looks at all of them."
    for how in ([2], [len(numbers)], sizes):

        def judge(column: np.ndarray, how: Sequence[int] = how) -> Answer:
            script = Append(column, column, pieces(how, len(column)))
            for seen in ask(KVCache, New(), script, *READ)[-2:]:
                _must_keep(seen, column, "tokens are forgotten", why)
            return seen

        seen = on_smallest(judge, numbers[: sum(how), None])
    passed(f"the cache remembers {len(numbers)} tokens, one by one and all at once", seen)


@graded("KVCache", about="kinds")
def cache_kinds(KVCache: Any) -> None:
    """Integers before fractions, float32, arrays that are read-only or strided."""
    some = generator("cache_kinds").integers(1, 99, (2, 3)) + 0.0
    whole, half = some.astype(np.int64), some + 0.5
    why = "The fractions of a later chunk must survive, whatever the first one held."
    for chunks in ((whole, half), (whole.astype(np.float32), half.astype(np.float32))):
        for each in ask(KVCache, New(), *(Append(new, new) for new in chunks), *READ)[-2:]:
            _must_keep(each, half, "numbers are lost", why)
    locked, strided = half.copy(), np.repeat(half, 2, axis=-1)[..., ::2]
    locked.flags.writeable = False
    why = "It is an array like any other, and must be held as it was."
    for given in (locked, strided):
        appended, *seen = ask(KVCache, New(), Append(given, given), *READ)[1:]
        appended.must_not_change()
        for each in seen:
            _must_keep(each, half, "numbers are lost", why)
    passed("the cache takes every kind of array", *seen)


def _shuffled(name: str, *numbers: int) -> list[int]:
    """The numbers in random order."""
    return [int(number) for number in generator(name).permutation(numbers)]


def _stack(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Random numbers (…, S, w) with two decimals, to be cut into queries, keys and values."""
    return generator(f"{name}{shape}").uniform(-4.0, 4.0, shape).round(2)


def _two(stack: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keys (…, S, 2) and wider values, cut out of a stack; narrower if that is."""
    width = min(2, stack.shape[-1] - 1)
    return stack[..., :width].copy(), stack[..., width:].copy()


def _must_gather(KVCache: Any, lead: tuple[int, ...], sizes: Sequence[int]) -> list[Answer]:
    """Chunks of these sizes are held in order; a failure is told on the smallest case."""

    def judge(stack: np.ndarray) -> list[Answer]:
        if stack.shape[-1] < 2:
            return []  # shrinking left no values
        K, V = _two(stack)
        script = Append(K, V, pieces(sizes, K.shape[-2]))
        *_, keys, values = ask(KVCache, New(), script, *READ)
        return _must_hold(keys, values, K, V)

    return on_smallest(judge, _stack("gather", (*lead, sum(sizes), 5)))


def _must_hold(keys: Answer, values: Answer, K: np.ndarray, V: np.ndarray) -> list[Answer]:
    """The keys and values that were read are these."""
    why = "It holds every token that was appended, the oldest first, along axis −2."
    for seen, expected, what in ((keys, K, "keys"), (values, V, "values")):
        if _is_array(seen.value) and seen.value.shape != expected.shape:
            told = f"The shape is {seen.value.shape}; it must be {expected.shape}. {why}"
            seen.fail(f"wrong {what}", told, expected)
        found = seen.must_be_array(expected.shape)
        seen.must_equal(found, expected, f"wrong {what}", why)
    return [keys, values]


def _numbers_of(seen: Answer) -> np.ndarray:
    """The numbers that were read, whatever their order and shape: other checks ask about that."""
    if not _is_array(seen.value):
        seen.fail(f"holds {kind_of(seen.value)}", "cache.keys and cache.values are arrays.")
    return np.asarray(seen.value)


def _must_keep(seen: Answer, numbers: np.ndarray, title: str, why: str) -> None:
    """All the numbers were read, in whatever order."""
    seen.demand(bool(np.isin(numbers, _numbers_of(seen)).all()), title, why)


# --- decode_step ------------------------------------------------------------------------------


@graded("decode_step", about="token", beside=["KVCache"])
def step_token(decode_step: Any, KVCache: Any) -> None:
    """One new token: it sees everything before it, and itself."""
    one = np.array([[1.0]])
    why = "The first token sees itself alone, so its output is its own value."
    step, *read = ask_step(decode_step, KVCache, New(), Step(one, one, 5 * one), *READ)[1:]
    _must_attend(step, read, one, one, 5 * one, why)
    why = "The new token scores the same with the past one as with itself: the mean of the values."
    past, none = Append(0 * one, 2 * one), 0 * one
    script = (New(), past, Step(3 * one, none, 4 * one), *READ)
    step, *read = ask_step(decode_step, KVCache, *script)[2:]
    _must_attend(step, read, 3 * one, np.zeros((2, 1)), np.array([[2.0], [4.0]]), why)
    why = "The new token sees all past tokens and itself; scores are divided by √d_k."
    for before in (5, 2):
        seen = _must_follow(decode_step, KVCache, (), before, 1, why)
    passed("a new token sees all that came before, and itself", *seen)


@graded("decode_step", about="chunk", beside=["KVCache"])
def step_chunk(decode_step: Any, KVCache: Any) -> None:
    """Several new tokens: each sees the past and the chunk up to itself."""
    why = "No keys score higher than others: row i is the mean of all values up to token i."
    none, V = np.zeros((2, 1)), np.array([[2.0], [4.0]])
    step, *read = ask_step(decode_step, KVCache, New(), Step(none, none, V), *READ)[1:]
    _must_attend(step, read, none, none, V, why)
    why = "Token i of the chunk sees the whole past and tokens 0 … i of the chunk, no later one."
    for lead, past, new in (((), 0, 3), ((), 4, 3), ((), 1, 4), ((2,), 0, 3), ((3, 2), 0, 2)):
        seen = _must_follow(decode_step, KVCache, lead, past, new, why)
    passed("each token of a chunk sees the past and the chunk up to itself", *seen)


@graded("decode_step", about="stored", beside=["KVCache"])
def step_stored(decode_step: Any, KVCache: Any) -> None:
    """The new keys and values are in the cache afterwards, once: as if they had been appended."""
    why = "decode_step appends the keys and values of the new tokens, once and all of them."
    Q, K, V = _three(_stack("step_stored", (3, 7)))
    begin = (New(), Append(V[:1, :2], V[:1]))
    for ends in (pieces([1, 2], 3), pieces([2, 1], 3)):
        by_step = ask_step(decode_step, KVCache, *begin, Step(Q, K, V, ends), *READ)[-2:]
        by_hand = ask_step(decode_step, KVCache, *begin, Append(K, V, ends), *READ)[-2:]
        for seen, plainly in zip(by_step, by_hand, strict=True):
            found, expected = _numbers_of(seen), _numbers_of(plainly)
            told = f"Here they have shape {found.shape}; when the same chunks are appended by hand"
            told += f" they have {expected.shape}. {why}"
            seen.demand(found.shape == expected.shape, "not what was given", told)
            seen.must_equal(found, expected, "not what was given", why)
    passed("the new keys and values are in the cache afterwards, once", seen)


@graded("decode_step", about="form", beside=["KVCache"])
def step_form(decode_step: Any, KVCache: Any) -> None:
    """The output and nothing else, with every axis; q, k and v stay as they were."""
    for shape in ((1, 3), (3, 3), (2, 1, 3), (1, 1, 2, 3)):
        V = _stack("step_form", shape)
        seen = ask_step(decode_step, KVCache, New(), Step(-V, V[..., ::-1].copy(), V))[-1]
        seen.must_be_array(V.shape)
        seen.must_not_change()
    passed("decode_step returns the output alone, (..., n, d_v)", seen)


@graded("decode_step", about="kinds", beside=["KVCache"])
def step_kinds(decode_step: Any, KVCache: Any) -> None:
    """Integers, float32, and arrays that cannot be written to."""
    stack = _stack("step_kinds", (4, 7))
    locked = stack.copy()
    locked.flags.writeable = False
    for given in (np.trunc(stack).astype(np.int64), stack.astype(np.float32), locked):
        tolerance = FLOAT32 if given.dtype == np.float32 else FLOAT64
        why = "Expected is what decode_step gives for the same numbers in writable float64 arrays."
        outputs = []
        for kind in (given.astype(np.float64), given):
            Q, K, V = _views(kind)
            script = (New(), Append(K[:2], V[:2]), Step(Q[2:], K[2:], V[2:]))
            seen = ask_step(decode_step, KVCache, *script)[-1]
            found = _output_of(seen, (2, 3))
            outputs.append(found.must_be_array(np.shape(found.value)))
        seen.must_equal(outputs[1], outputs[0], f"another output for {given.dtype}", why, tolerance)
    passed("decode_step takes integers, float32 and read-only arrays", seen)


@graded("decode_step", about="chunking", beside=["KVCache"])
def step_chunkings(decode_step: Any, KVCache: Any) -> None:
    """However a text is cut into chunks, the outputs are those of one causal pass over it."""
    for sizes in ([1] * 10, [12], *map(_some_sizes, range(3))):
        _must_equal_full_pass(decode_step, KVCache, (7,), sizes)
    _must_equal_full_pass(decode_step, KVCache, (2, 3, 7), _some_sizes(3))
    _must_equal_full_pass(decode_step, KVCache, (3,), [1, 67, 2])
    first, second = (_three(_stack(f"{name} text", (10, 7))) for name in ("first", "second"))
    answers = ask_step(
        decode_step,
        KVCache,
        New(cache="first"),
        New(cache="second"),
        Step(*_part(first, 0, 4), pieces([4], 4), cache="first"),
        Step(*_part(second, 0, 4), pieces([1, 3], 4), cache="second"),
        Step(*_part(first, 4, 10), pieces([1, 5], 6), cache="first"),
        Step(*_part(second, 4, 10), pieces([5, 1], 6), cache="second"),
    )
    for each, text, rows in zip(answers[2:], 2 * (first, second), HALVES, strict=True):
        seen = _must_be_full_pass(each, text, rows, "Two texts are written in turns. ")
    passed("any chunking gives what one causal pass over everything gives", seen)


def _some_sizes(number: int) -> list[int]:
    """A random way to cut 9 to 12 tokens into chunks."""
    random = generator(f"sizes {number}")
    ends = random.choice(np.arange(1, 9), 3, replace=False)
    return [int(size) for size in np.diff(np.sort([0, *ends, random.integers(9, 13)]))]


def _views(stack: np.ndarray) -> Three:
    """Queries and keys (…, S, 2) and values (…, S, 3), views of a stack; narrower if that is."""
    width = min(2, stack.shape[-1] // 3)
    return stack[..., :width], stack[..., width : 2 * width], stack[..., 2 * width :]


def _three(stack: np.ndarray) -> Three:
    """The same as arrays of their own."""
    Q, K, V = _views(stack)
    return Q.copy(), K.copy(), V.copy()


def _part(parts: Three, begin: int, end: int) -> Three:
    """The tokens from `begin` to `end` (or to the last)."""
    Q, K, V = (part[..., begin:end, :] for part in parts)
    return Q, K, V


def _must_follow(
    decode_step: Any, KVCache: Any, lead: tuple[int, ...], past: int, new: int, why: str
) -> list[Answer]:
    """A step after `past` tokens that were appended is right, told on the smallest case."""

    def judge(stack: np.ndarray) -> list[Answer]:
        length = stack.shape[-2]
        if stack.shape[-1] < 3 or length < new + bool(past):
            return []  # shrinking left too little
        parts = _three(stack)
        Q, K, V = _part(parts, length - new, length)
        before = [Append(*_part(parts, 0, length - new)[1:])] if past else []
        step, *read = ask_step(decode_step, KVCache, New(), *before, Step(Q, K, V), *READ)[-3:]
        _must_attend(step, read, Q, *parts[1:], why)
        return [step]

    return on_smallest(judge, _stack("follow", (*lead, past + new, 7)))


def _must_attend(
    step: Answer, read: Sequence[Answer], Q: np.ndarray, K: np.ndarray, V: np.ndarray, why: str
) -> None:
    """The outputs of the last tokens are right, for all keys and values or for those in the cache.

    So a cache that forgets, or mixes up what it holds, costs no point of decode_step."""
    held = [each.value for each in read]
    if _fit(Q, *held) and _is_near(_alone(step.value), _full_pass(Q, *held)):
        return
    expected = _full_pass(Q, K, V)
    found = _output_of(step, expected.shape)
    values = found.must_be_array(expected.shape)
    found.must_be_finite(values, why, expected)
    found.must_equal(values, expected, "wrong output", why)


def _is_near(value: Any, expected: np.ndarray) -> bool:
    same = _is_array(value) and value.size == expected.size
    return bool(same and FLOAT64.allows(value.reshape(expected.shape), expected).all())


def _full_pass(Q: np.ndarray, K: np.ndarray, V: np.ndarray) -> np.ndarray:
    """The outputs of the last tokens, each of which sees all up to itself."""
    return oracle.attention(Q, K, V, oracle.causal_mask(Q.shape[-2], K.shape[-2]))[0]


def _fit(Q: np.ndarray, K: Any, V: Any) -> bool:
    """Whether these are keys and values that the queries can look at, at least one for each."""
    if not (_is_array(K) and _is_array(V)) or not Q.ndim == K.ndim == V.ndim:
        return False
    same = Q.shape[:-2] == K.shape[:-2] and K.shape[:-1] == V.shape[:-1]
    return bool(same and K.shape[-1] == Q.shape[-1] and K.shape[-2] >= Q.shape[-2])


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def _output_of(seen: Answer, shape: tuple[int, ...]) -> Answer:
    """The output, out of a pair too, or without axes of length 1: `step_form` asks for those."""
    value = _alone(seen.value)
    if _is_array(value) and value.shape != shape and _long(value.shape) == _long(shape):
        value = value.reshape(shape)
    return replace(seen, seen=replace(seen.seen, value=value))


def _alone(value: Any) -> Any:
    """The first of a pair (output, weights), or what came alone."""
    return value[0] if isinstance(value, tuple | list) and len(value) == 2 else value


def _long(shape: tuple[int, ...]) -> list[int]:
    """The lengths that are more than 1."""
    return [length for length in shape if length > 1]


def _must_equal_full_pass(
    decode_step: Any, KVCache: Any, shape: tuple[int, ...], sizes: Sequence[int]
) -> None:
    """Chunks of these sizes give what the whole gives; told on the smallest case."""

    def judge(stack: np.ndarray) -> None:
        if stack.shape[-1] >= 3:  # not when shrinking took queries, keys or values away
            step = Step(*_three(stack), pieces(sizes, stack.shape[-2]))
            seen = ask_step(decode_step, KVCache, New(), step)[-1]
            _must_be_full_pass(seen, _three(stack))

    on_smallest(judge, _stack("chunking", (*shape[:-1], sum(sizes), shape[-1])))


def _must_be_full_pass(
    seen: Answer, text: Three, rows: slice = slice(None), why: str = ""
) -> Answer:
    """The outputs of these tokens, in chunks, are those of one pass over the whole text.

    A failure shows the first token whose output is another."""
    why += "Expected is one causal pass over all the tokens: cutting them changes nothing."
    expected = _full_pass(*text)[..., rows, :]
    joined = _joined([_alone(each) for each in seen.value], expected)
    values = replace(seen, seen=replace(seen.seen, value=joined)).must_be_array(expected.shape)
    right = FLOAT64.allows(values, expected).all(axis=-1)
    for token in np.unique(np.nonzero(~right)[-1]):
        one = f"np.concatenate({OUTPUTS}, axis=-2)[..., {token}, :]"
        shown = replace(
            seen,
            call=seen.call.removesuffix(OUTPUTS) + one,
            seen=replace(seen.seen, value=values[..., token, :]),
        )
        shown.fail("not what the full pass gives", why, expected[..., token, :])
    return seen


def _joined(outputs: list[Any], expected: np.ndarray) -> Any:
    """The outputs along the positions, with axes of length 1 as they must be; if one cannot be
    joined, that one.
    """
    lead, width = expected.shape[:-2], expected.shape[-1]
    for output in outputs:
        if not _is_array(output) or output.size % (width * math.prod(lead)):
            return output
    return np.concatenate([each.reshape(*lead, -1, width) for each in outputs], axis=-2)


# --- position_ids -----------------------------------------------------------------------------
# Only `positions_form` asks for shape and dtype, only `positions_padding` looks at the padding.


@graded("position_ids", about="right")
def positions_right(position_ids: Any) -> None:
    """Padding on the right: real tokens are counted from 0."""
    why = "The first real token of each sequence is at position 0, the next at 1, and so on."
    lengths = generator("positions_right").integers(1, 6, 3)
    for given, k_len in (([3, 2], 4), (lengths, 6), ([1], 1), ([2, 0, 5], 5)):
        seen = _must_count(position_ids, given, k_len, why)
    seen = _must_count(position_ids, [1, 3], 3, why, side="right")
    passed("position_ids counts the real tokens from 0", seen)


@graded("position_ids", about="left", also=[([3, 2], 4)])
def positions_left(position_ids: Any) -> None:
    """Padding on the left: real tokens are counted from 0 as well, wherever they begin."""
    why = 'With side="left" the real tokens come last, and the first of them is at position 0.'
    lengths = generator("positions_left").integers(1, 6, 3)
    for given, k_len in (([3, 2], 4), (lengths, 6), ([2, 0, 5], 5)):
        seen = _must_count(position_ids, given, k_len, why, side="left")
    passed('position_ids begins where the text begins for side="left"', seen)


@graded("position_ids", about="padding", also=[([3, 2], 4), ([3, 2], 4, "left")])
def positions_padding(position_ids: Any) -> None:
    """0 on the padding, on either side."""
    lengths = generator("positions_padding").integers(0, 5, 3)
    for given, k_len in (([3, 2], 4), (lengths, 5), ([0, 2], 3)):
        for side in ({}, {"side": "left"}):
            seen = ask_positions(position_ids, given, k_len, **side)
            found = _in_shape(seen, (len(given), k_len))
            padding = ~oracle.padding_mask(list(given), k_len, **side)[:, 0]
            expected = oracle.position_ids(list(given), k_len, **side)
            why = "Padding has no position. It gets 0, which every table of positions has."
            seen.demand(bool((found[padding] == 0).all()), "not 0 on padding", why, expected)
    passed("position_ids is 0 on the padding", seen)


@graded("position_ids", about="form")
def positions_form(position_ids: Any) -> None:
    """Integers of shape (B, k_len), from a list or an array; the lengths stay as they are."""
    random = generator("positions_form").integers(1, 4, 4)
    for given in ([1, 2], random, [3]):
        seen = ask_positions(position_ids, given, 3)
        shape = (len(given), 3)
        found = _in_shape(seen, shape, exactly=True)
        why = "Positions are used as an index, and an index is a whole number."
        seen.demand(found.dtype.kind in "iu", f"{found.dtype}, not integers", why)
        seen.must_not_change()
    passed("position_ids returns integers of shape (B, k_len)", seen)


def _must_count(position_ids: Any, lengths: Any, k_len: int, why: str, **side: str) -> Answer:
    """The positions of the real tokens are right, whatever stands on the padding."""
    seen = ask_positions(position_ids, lengths, k_len, **side)
    found = _in_shape(seen, (len(lengths), k_len))
    real = oracle.padding_mask(list(lengths), k_len, **side)[:, 0]
    expected = oracle.position_ids(list(lengths), k_len, **side)
    seen.demand(bool((found[real] == expected[real]).all()), "wrong positions", why, expected)
    return seen


def _in_shape(seen: Answer, shape: tuple[int, int], exactly: bool = False) -> np.ndarray:
    """What came as an array of this shape; unless `exactly`, axes of length 1 are no matter."""
    value = seen.value
    if not _is_array(value):
        seen.fail(f"returns {kind_of(value)}", f"It must return an array of shape {shape}.")
    if value.shape != shape and (exactly or _long(value.shape) != _long(shape)):
        why = f"The result has shape {value.shape}; it must have shape {shape}."
        seen.fail("wrong shape", f"{why} There is a row for each sequence.")
    return np.asarray(value).reshape(shape)
