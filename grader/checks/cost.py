"""Lesson 06: what the three counts and the sliding window must be, one mechanism a check.

Sizes in one call are distinct, so that no two can stand for each other unseen."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from grader import oracle
from grader.checks.ask import FLOAT64, Answer, asking, is_real, kind_of, passed
from grader.checks.diagnose import graded
from grader.checks.tables import must_be_boolean, must_be_pairs
from grader.misconceptions import cost as _named  # noqa: F401  (registers them)
from grader.seeds import generator

ask_counts = asking("attention_counts")
ask_crossover = asking("crossover_length")
ask_cache = asking("kv_cache_bytes")
ask_window = asking("sliding_window_mask")

Number = float | int
Sizes = Sequence[int]  # seq_len, d_model, n_heads
BY_HAND = (3, 4, 2)
PARTS = ("qk_flops", "pv_flops", "projection_flops")
KEYS = (*PARTS, "total_flops", "scores_bytes")
EXACT = 1e-12  # what a 64-bit float may lose, and a 32-bit one cannot keep to
ENDLESS = 1e100  # beyond every count, and far below where a float ends

# --- attention_counts -------------------------------------------------------------------------
# Each check reads one entry of the dict; the total is held against the parts it came with.


@graded("attention_counts", about="qk")
def counts_qk(attention_counts: Any) -> None:
    """Q Kᵀ: by hand, then other sizes; how many heads share the width changes nothing."""
    why = (
        "Every query meets every key, in every head. Each of these scores takes a multiplication "
        "and an addition for each number of a key."
    )
    seen = _must_count(attention_counts, "qk_flops", why)
    passed("qk_flops counts every multiplication and addition of Q Kᵀ", seen)


@graded("attention_counts", about="pv")
def counts_pv(attention_counts: Any) -> None:
    """P V: the same sizes, the other product."""
    why = (
        "Each number of a head's output is a sum over all keys: a multiplication and an addition "
        "for each weight."
    )
    seen = _must_count(attention_counts, "pv_flops", why)
    passed("pv_flops counts every multiplication and addition of P V", seen)


@graded("attention_counts", about="projections")
def counts_projections(attention_counts: Any) -> None:
    """The four projections, each a table (S, d_model) times a matrix (d_model, d_model)."""
    why = (
        "Queries, keys, values and the output are each a table (S, d_model) times a matrix "
        "(d_model, d_model)."
    )
    seen = _must_count(attention_counts, "projection_flops", why)
    passed("projection_flops counts the four projections", seen)


@graded("attention_counts", about="total")
def counts_total(attention_counts: Any) -> None:
    """The total is the sum of the three parts that were returned with it."""
    why = "The total is the work of all three parts that stand beside it in the dict."
    for sizes in (BY_HAND, *_random_sizes("counts_total")):
        seen = ask_counts(attention_counts, *sizes)
        parts = sum(_entry(seen, key)[1] for key in PARTS)
        _must_be(*_entry(seen, "total_flops"), parts, why)
    passed("total_flops is the sum of its parts", seen)


@graded("attention_counts", about="bytes")
def counts_bytes(attention_counts: Any) -> None:
    """The table of scores: every head has one, and every number takes its bytes."""
    why = "A head has a score for every query and key, and each takes bytes_per_element bytes."
    for sizes in (BY_HAND, *_random_sizes("counts_bytes")):
        _must_have_entry(attention_counts, sizes, "scores_bytes", f"{why} Unless told: 4.")
        for given in (2, 8):
            wide = {"bytes_per_element": given}
            _must_have_entry(attention_counts, sizes, "scores_bytes", why, **wide)
    why = "32 heads at 32,768 tokens, 2 bytes a number: that is 64 GiB."
    sizes = (32768, 4096, 32)
    seen = _must_have_entry(attention_counts, sizes, "scores_bytes", why, bytes_per_element=2)
    passed(
        "scores_bytes counts the tables of all heads: 64 GiB at 32 heads and 32,768 tokens", seen
    )


def _must_count(attention_counts: Any, key: str, why: str) -> Answer:
    """One entry for the case by hand, for one position, for one head, and for random sizes."""
    for sizes in (BY_HAND, (1, 6, 2), (5, 3, 1), *_random_sizes(key)):
        seen = _must_have_entry(attention_counts, sizes, key, why)
    return seen


def _must_have_entry(
    attention_counts: Any, sizes: Sizes, key: str, why: str, **given: int
) -> Answer:
    seen = ask_counts(attention_counts, *sizes, **given)
    _must_be(*_entry(seen, key), oracle.attention_counts(*sizes, **given)[key], why)
    return seen


def _random_sizes(name: str, count: int = 2) -> list[Sizes]:
    """Several seq_len, d_model and n_heads, the width of a head unlike the other two."""
    random = generator(f"sizes {name}")
    found: list[Sizes] = []
    for _ in range(count):
        length, heads, width = (int(size) for size in random.permutation(np.arange(2, 14))[:3])
        found.append((length, heads * width, heads))
    return found


def _entry(seen: Answer, key: str) -> tuple[Answer, Number]:
    """The answer's entry `key` as an answer of its own, and the number it is."""
    counts = seen.value
    if not isinstance(counts, Mapping):
        seen.fail(f"returns {kind_of(counts)}", f"It must return a dict with {_listed(KEYS)}.")
    if key not in counts:
        why = f"The dict must have the keys {_listed(KEYS)}."
        seen.fail(f"no {key} in the dict", why)
    part = replace(seen, call=f'{seen.call}["{key}"]', seen=replace(seen.seen, value=counts[key]))
    return part, _number(part)


def _listed(keys: Sequence[str]) -> str:
    return f"{', '.join(keys[:-1])} and {keys[-1]}"


def _real(seen: Answer) -> Number:
    """Demand one finite real number, and return it as a plain one."""
    value = seen.value
    if not is_real(value):
        seen.fail(f"returns {kind_of(value)}", "It must be a number.")
    number: Number = value.item() if isinstance(value, np.ndarray) else value
    seen.demand(abs(number) < ENDLESS, "not a count", "It must be a number that can be counted to.")
    return number


def _number(seen: Answer) -> Number:
    """Demand one real number above 0, and return it as a plain one."""
    number = _real(seen)
    seen.demand(number > 0, "not above 0", "There is always something to count: it is above 0.")
    return number


def _must_be(seen: Answer, number: Number, expected: Number, why: str) -> None:
    """The number is the expected one, but for rounding."""
    fine = bool(FLOAT64.allows(np.array(float(number)), np.array(float(expected))))
    seen.demand(fine, "wrong count", why, expected)


# --- crossover_length -------------------------------------------------------------------------


@graded("crossover_length", about="length")
def crossover(crossover_length: Any) -> None:
    """At the length that it returns, both kinds of work are the same: small widths, large ones."""
    random = generator("crossover").integers(11, 700, 2).tolist()
    for d_model in (4, 1, 7, 96, *random):
        seen = ask_crossover(crossover_length, d_model)
        length = _number(seen)
        pairs, projections = 4 * length**2 * d_model, 8 * length * d_model**2
        why = (
            f"At S = {length:g} the two products Q Kᵀ and P V take {pairs:,.0f} operations and the "
            f"four projections {projections:,.0f}. They must take the same."
        )
        _must_be(seen, length, oracle.crossover_length(d_model), why)
    passed("at crossover_length the pairs cost as much as the projections", seen)


# --- kv_cache_bytes ---------------------------------------------------------------------------
# `values` asks with 2 bytes; the other two hold answers of one function side by side.


@graded("kv_cache_bytes", about="content", also=((3, 2, 1, 4, 8), (3, 2, 1, 4)))
def cache_values(kv_cache_bytes: Any) -> None:
    """By hand, then other sizes: whole numbers of bytes, exact."""
    why = (
        "Each layer keeps a key and a value for every token and every key/value head. Both have "
        "d_head numbers, and each number takes bytes_per_element bytes."
    )
    random = generator("cache_values")
    drawn = [random.permutation(np.arange(3, 30))[:4].tolist() for _ in range(2)]
    for sizes in ((3, 2, 1, 4), (5, 4, 3, 7), (7, 1, 2, 5), *drawn):
        seen = ask_cache(kv_cache_bytes, *sizes, bytes_per_element=2)
        expected = oracle.kv_cache_bytes(*sizes)
        seen.demand(_number(seen) == expected, "wrong count", why, expected)
    passed("kv_cache_bytes counts keys and values of all layers", seen)


@graded("kv_cache_bytes", about="bytes", also=((3, 2, 1, 4),))
def cache_bytes(kv_cache_bytes: Any) -> None:
    """bytes_per_element: 2 if it is not given; twice as many bytes a number are twice as many."""
    drawn = generator("cache_bytes").permutation(np.arange(3, 20))[:4].tolist()
    for sizes in ((3, 2, 1, 4), drawn):
        usual = _number(ask_cache(kv_cache_bytes, *sizes))
        for width in (1, 2, 4, 8):
            seen = ask_cache(kv_cache_bytes, *sizes, bytes_per_element=width)
            why = (
                f"Without bytes_per_element it returns {usual:,}, for 2 bytes a number. "
                f"With bytes_per_element={width} each number takes {width}."
            )
            expected = usual / 2 * width
            _must_be(seen, _number(seen), int(expected) if expected % 1 == 0 else expected, why)
    passed("kv_cache_bytes takes the bytes of a number as given, else 2", seen)


@graded("kv_cache_bytes", about="large", also=((3, 2, 1, 4),))
def cache_large(kv_cache_bytes: Any) -> None:
    """Sizes of real models, beyond 2³¹: n times as many tokens take n times as much."""
    times, length = (2 * int(n) + 1 for n in generator("cache_large").integers((16, 1000), 1900))
    for layers, heads, width in ((80, 8, 128), (61, 5, 96)):
        less = _number(ask_cache(kv_cache_bytes, length, layers, heads, width))
        seen = ask_cache(kv_cache_bytes, times * length, layers, heads, width)
        why = f"{length} tokens take {less:,} bytes; {times} times as many take {times} times that."
        off = abs(_real(seen) - times * less)
        seen.demand(off <= EXACT * less, "not in proportion", why, times * less)
    passed("kv_cache_bytes is exact beyond 2³¹, where 32-bit integers end", seen)


# --- sliding_window_mask ----------------------------------------------------------------------
# `causal` looks above the diagonal only, `width` on and below it, `form` at neither.


@graded("sliding_window_mask", about="causal")
def window_causal(sliding_window_mask: Any) -> None:
    """No query sees a later key, and some see an earlier one."""
    why = "Row i is query i, column j is key j. No query may attend to a key that comes after it."
    for length, window in ((4, 2), (3, 5), _drawn("window_causal")):
        seen = ask_window(sliding_window_mask, length, window)
        pairs = must_be_pairs(seen, (length, length))
        expected = oracle.sliding_window_mask(length, window)
        seen.demand(not np.triu(pairs, 1).any(), "sees later keys", why, expected)
        why_some = "Position i may attend to something: at the least to itself."
        seen.demand(bool(pairs.any()), "sees nothing", why_some, expected)
    passed("no query of sliding_window_mask sees a later key", seen)


@graded("sliding_window_mask", about="width")
def window_width(sliding_window_mask: Any) -> None:
    """So many keys back: windows of one, of all, of more than all."""
    cases = ((4, 2), (5, 1), (4, 3), (3, 3), (3, 7), (1, 1), _drawn("window_width"))
    for length, window in cases:
        seen = ask_window(sliding_window_mask, length, window)
        pairs = must_be_pairs(seen, (length, length))
        expected = oracle.sliding_window_mask(length, window)
        right = bool((np.tril(pairs) == expected).all())
        seen.demand(right, "wrong keys", _why_window(window), expected)
    passed("every query sees as many keys as the window holds, itself among them", seen)


@graded("sliding_window_mask", about="form")
def window_form(sliding_window_mask: Any) -> None:
    """A boolean array of shape (q_len, q_len)."""
    for length, window in ((3, 2), (1, 4), _drawn("window_form")):
        seen = ask_window(sliding_window_mask, length, window)
        must_be_boolean(seen, (length, length))
    passed("sliding_window_mask returns a boolean array of shape (q_len, q_len)", seen)


def _drawn(name: str) -> tuple[int, int]:
    """A length and a window of 2 or more that is shorter."""
    length, less = generator(name).integers((6, 2), (10, 5))
    return int(length), int(length - less)


def _why_window(window: int) -> str:
    before = {1: "nothing else", 2: "the one before it"}.get(window, f"the {window - 1} before it")
    return f"With window={window} a query sees itself and {before}, as far as there are any."
