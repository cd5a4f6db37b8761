"""Lesson 03: how people get `first_leak` wrong, the test that finds a leak, and what they are told.

Forms are whole implementations, right but for their one mistake; sources are public issues."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from grader import oracle
from grader.misconceptions.family import Form, misconception, right

Array = np.ndarray

right("first_leak")(oracle.first_leak)

Fn = Callable[[Array], Array]
# (inputs, position) → the changed inputs to try
Changed = Callable[[Array, int], Iterable[Array]]
# (all outputs before, all outputs after, position) → whether the output at position moved
Moved = Callable[[Array, Array, int], Any]
SIZES = (1.0, -1.0, 100.0, -100.0)
BOTH = (1.0, 100.0)


def raise_unless_finite(values: Array) -> None:
    """Raise the promised ValueError."""
    if not np.isfinite(values).all():
        raise ValueError("not finite")


def ask_nothing(values: Array) -> None:
    """Let everything pass."""


def added(*sizes: float) -> Changed:
    """Each size added to all inputs after the position."""

    def changed(x: Array, position: int) -> Iterator[Array]:
        for size in sizes:
            edited = x.astype(np.float64)
            edited[position + 1 :] += size
            yield edited

    return changed


def edited_by(edit: Callable[[Array, int], None]) -> Changed:
    """One changed copy, made by `edit(copy, position)`."""

    def changed(x: Array, position: int) -> Iterator[Array]:
        copy = x.astype(np.float64)
        edit(copy, position)
        yield copy

    return changed


def both(*ways: Changed) -> Changed:
    """All the changes of several ways, one after the other."""
    return lambda x, position: itertools.chain.from_iterable(way(x, position) for way in ways)


def by_more_than(least: float) -> Moved:
    """Whether the output at the position moved by more than `least`."""
    return lambda before, after, i: np.abs(after[i] - before[i]).max() > least


def leak_by(
    changed: Changed = added(*SIZES),  # noqa: B008
    moved: Moved = by_more_than(1e-9),  # noqa: B008
    positions: Callable[[int], Iterable[int]] = lambda length: range(length - 1),
    check_first: Callable[[Array], None] = raise_unless_finite,
    check_changed: Callable[[Array], None] = raise_unless_finite,
    answer: Callable[[list[int], int], Any] = lambda found, length: found[0] if found else None,
    eager: bool = True,
) -> Form:
    """A search for leaks with one or more of its parts replaced; `eager` stops at the first."""

    def first_leak(fn: Fn, x: Array) -> Any:
        with np.errstate(all="ignore"):
            before = np.array(fn(x))
            check_first(before)
            found: list[int] = []
            for position in positions(len(x)):
                for edited in changed(x, position):
                    after = np.array(fn(edited))
                    check_changed(after)
                    if moved(before, after, position):
                        found.append(position)
                        break
                if found and eager:
                    break
            return answer(found, len(x))

    return first_leak


@misconception(
    "first_leak",
    "small changes only",
    about="changes",
    told=(
        "Your code changes later inputs by a small amount only. A leak that opens when a later "
        "input is large stays shut all the time."
    ),
    question="Which of your changes would a threshold at 10 notice?",
)
def small_changes() -> Iterator[Form]:
    def noise(x: Array, position: int) -> Iterator[Array]:
        random = np.random.default_rng(0)
        edited = x.astype(np.float64)
        edited[position + 1 :] += random.normal(size=edited[position + 1 :].shape)
        yield edited

    def replaced(x: Array, position: int) -> Iterator[Array]:
        random = np.random.default_rng(0)
        edited = x.astype(np.float64)
        edited[position + 1 :] = random.normal(size=edited[position + 1 :].shape)
        yield edited

    def to(number: float) -> Changed:
        return edited_by(lambda copy, i: copy[i + 1 :].fill(number))

    for sizes in ((1.0,), (1.0, -1.0), (5.0,), (0.5,), (0.1,), (0.01,), (1e-3,)):
        yield leak_by(added(*sizes))
    for size in (1e-4, 1e-6):
        yield leak_by(added(size))
    yield from (leak_by(noise), leak_by(replaced), leak_by(to(1.0)))


@misconception(
    "first_leak",
    "large changes only",
    about="changes",
    told=(
        "Your code changes later inputs by a large amount only. A leak can be blind to that: a "
        "gate that is open for moderate inputs, or an angle that has gone round by whole turns."
    ),
    question="Which of your changes would notice a leak of inputs between 0.5 and 3?",
)
def large_changes() -> Iterator[Form]:
    def to(number: float) -> Changed:
        return edited_by(lambda copy, i: copy[i + 1 :].fill(number))

    def noise(size: float, replace: bool) -> Changed:
        def changed(x: Array, position: int) -> Iterator[Array]:
            random = np.random.default_rng(0)
            edited = x.astype(np.float64)
            draw = size * random.normal(size=edited[position + 1 :].shape)
            edited[position + 1 :] = draw if replace else edited[position + 1 :] + draw
            yield edited

        return changed

    for sizes in ((100.0,), (100.0, -100.0), (10.0,), (1e3,), (1e6,), (999.0,)):
        yield leak_by(added(*sizes))
    yield from (leak_by(to(100.0)), leak_by(to(1e3)), leak_by(to(1e6)))
    for size in (100.0, 1e3):
        yield from (leak_by(noise(size, False)), leak_by(noise(size, True)))


@misconception(
    "first_leak",
    "one size after the other",
    about="changes",
    told=(
        "Your code goes through all positions with one size of change before it tries the next, "
        "and stops at the first leak that it meets. Another size may show an earlier one."
    ),
    question="Which leaks can your second size find once the first has found one?",
)
def size_by_size() -> Iterator[Form]:
    def by(*sizes: float) -> Form:
        searches = [leak_by(added(size)) for size in sizes]

        def first_leak(fn: Fn, x: Array) -> Any:
            found = (search(fn, x) for search in searches)
            return next((position for position in found if position is not None), None)

        return first_leak

    for sizes in ((1.0, 100.0), (1.0, -1.0, 100.0, -100.0), (1.0, 100.0, -1.0, -100.0)):
        yield from (by(*sizes), by(*sizes[::-1]))


@misconception(
    "first_leak",
    "later inputs multiplied",
    about="position small changes",
    told=(
        "Your code multiplies later inputs (or turns their signs round). Where an input is 0 that "
        "changes nothing."
    ),
    question="What becomes of an input of 0 in your change?",
)
def multiplied() -> Iterator[Form]:
    def times(*factors: float) -> Changed:
        def changed(x: Array, position: int) -> Iterator[Array]:
            for factor in factors:
                edited = x.astype(np.float64)
                edited[position + 1 :] *= factor
                yield edited

        return changed

    for factors in ((2.0,), (10.0,), (100.0,), (1000.0,), (-1.0,), (2.0, 100.0), (10.0, 1000.0)):
        yield leak_by(times(*factors))


@misconception(
    "first_leak",
    "later inputs set to 0",
    about="changes",
    told=(
        "Your code sets later inputs to 0. That is one change only, a small one, and no change at "
        "all where an input is 0 already."
    ),
    question="Which of your changes would a threshold at 10 notice, and what if x is all zeros?",
)
def set_to_zero() -> Iterator[Form]:
    yield leak_by(edited_by(lambda copy, i: copy[i + 1 :].fill(0.0)))


@misconception(
    "first_leak",
    "later inputs in another order",
    about="position changes",
    told=(
        "Your code only changes the order of later inputs. A leak through their sum, or through "
        "attention without positions, does not see that; and the last input has nothing to change "
        "places with."
    ),
    question="What does a mean over later inputs notice when they change places?",
)
def reordered() -> Iterator[Form]:
    def reverse(copy: Array, i: int) -> None:
        copy[i + 1 :] = copy[i + 1 :][::-1].copy()

    def roll(copy: Array, i: int) -> None:
        copy[i + 1 :] = np.roll(copy[i + 1 :], 1, axis=0)

    def shuffle(copy: Array, i: int) -> None:
        np.random.default_rng(0).shuffle(copy[i + 1 :])

    for edit in (reverse, roll, shuffle):
        yield leak_by(edited_by(edit))


@misconception(
    "first_leak",
    "one feature of the inputs",
    about="changes",
    told="Your code changes one feature of later inputs only. A leak may read another one.",
    question="Which features of a later input could a leak read?",
)
def one_feature_changed() -> Iterator[Form]:
    def in_feature(sizes: Iterable[float]) -> Changed:
        def changed(x: Array, position: int) -> Iterator[Array]:
            for size in sizes:
                edited = x.astype(np.float64)
                edited[position + 1 :, 0] += size
                yield edited

        return changed

    for sizes in (BOTH, (1.0,), (100.0,)):
        yield leak_by(in_feature(sizes))


@misconception(
    "first_leak",
    "only the next input",
    about="position",
    told="Your code changes the next input only. A leak may read one that comes much later.",
    question="Which inputs may the output at position 0 not depend on?",
)
def next_only() -> Iterator[Form]:
    def next_one(*sizes: float) -> Changed:
        def changed(x: Array, position: int) -> Iterator[Array]:
            for size in sizes:
                edited = x.astype(np.float64)
                edited[position + 1] += size
                yield edited

        return changed

    yield leak_by(next_one(*BOTH))


@misconception(
    "first_leak",
    "only the last input",
    about="position",
    told=(
        "Your code changes the last input only (or cuts the sequence in one place). A position "
        "that reads its neighbour then goes unnoticed, unless the neighbour is the last one."
    ),
    question="Which inputs may the output at position 0 not depend on?",
    source="karpathy/nanochat#845 (several prefix lengths instead of one)",
)
def last_only() -> Iterator[Form]:
    def from_place(place: Callable[[int], int], *sizes: float) -> Form:
        def first_leak(fn: Fn, x: Array) -> int | None:
            before = np.array(fn(x))
            raise_unless_finite(before)
            start = place(len(x))
            for size in sizes:
                edited = x.astype(np.float64)
                edited[start:] += size
                after = np.array(fn(edited))
                raise_unless_finite(after)
                moved = np.abs(after - before).max(axis=1)[:start] > 1e-9
                if moved.any():
                    return int(np.argmax(moved))
            return None

        return first_leak

    yield from_place(lambda length: length - 1, *BOTH)
    yield from_place(lambda length: length // 2, *BOTH)


@misconception(
    "first_leak",
    "the input itself changed too",
    about="right",
    told=(
        "Your code changes input i as well when it looks at output i. That output may depend on "
        "its own input, so a right function is accused."
    ),
    question="At which index does your change begin, and which is the first later input?",
)
def itself_too() -> Iterator[Form]:
    def from_itself(*sizes: float) -> Changed:
        def changed(x: Array, position: int) -> Iterator[Array]:
            for size in sizes:
                edited = x.astype(np.float64)
                edited[position:] += size
                yield edited

        return changed

    yield leak_by(from_itself(*BOTH))
    yield leak_by(from_itself(*BOTH), positions=range)


@misconception(
    "first_leak",
    "all outputs compared",
    about="right",
    told=(
        "Your code compares the outputs at later positions too. Those may move, since their own "
        "inputs were changed."
    ),
    question="Which outputs may not move when the inputs after i are changed?",
)
def all_outputs() -> Iterator[Form]:
    def everywhere(before: Array, after: Array, i: int) -> Any:
        return np.abs(after - before).max() > 1e-9

    def from_here(before: Array, after: Array, i: int) -> Any:
        return np.abs(after[i:] - before[i:]).max() > 1e-9

    for moved in (everywhere, from_here):
        yield leak_by(moved=moved)
        yield leak_by(moved=moved, positions=range)


@misconception(
    "first_leak",
    "poisoned with NaN",
    about="right",
    told=(
        "Your code puts NaN (or infinity) into later inputs. A right attention multiplies them by "
        "a weight of 0, and 0 · NaN is NaN: it is accused, or refused, though nothing leaks."
    ),
    question="Which values may replace an input, according to the promise?",
    source="pytorch/pytorch#101967",
)
def poisoned() -> Iterator[Form]:
    def with_value(value: float) -> Changed:
        return edited_by(lambda copy, i: copy[i + 1 :].fill(value))

    def broken(before: Array, after: Array, i: int) -> Any:
        return not np.isfinite(after[i]).all()

    def not_equal(before: Array, after: Array, i: int) -> Any:
        return not np.array_equal(before[i], after[i])

    def not_close(before: Array, after: Array, i: int) -> Any:
        return not (np.abs(after[i] - before[i]) <= 1e-9).all()

    for value in (np.nan, np.inf):
        for moved in (broken, not_equal, not_close):
            yield leak_by(with_value(value), moved, check_changed=ask_nothing)
        yield leak_by(with_value(value))
        yield leak_by(both(added(*SIZES), with_value(value)), not_close, check_changed=ask_nothing)


@misconception(
    "first_leak",
    "bit for bit",
    about="right",
    told=(
        "Your code takes any difference for a leak, down to the last bit. A right attention that "
        "subtracts one maximum for the whole table rounds a little differently when a later score "
        "changes."
    ),
    question="From which size on does the promise count a difference?",
)
def bit_for_bit() -> Iterator[Form]:
    def unequal(before: Array, after: Array, i: int) -> Any:
        return not np.array_equal(before[i], after[i])

    for sizes in (BOTH, SIZES, (1.0,), (100.0,), (-1.0, -100.0), (10.0,)):
        yield leak_by(added(*sizes), unequal)
    yield leak_by(moved=by_more_than(1e-18))


@misconception(
    "first_leak",
    "tolerance too wide",
    about="small",
    told=(
        "Your comparison forgives too much. `allclose` allows a share of each value (0.00001 of "
        "it) unless told otherwise, and a leak of a few millionths is a leak: training will find "
        "and use it."
    ),
    question="Which differences does your comparison let pass, and from where on is it a leak?",
    source="Xilinx/mlir-air#1427; sign/WeLT#22",
)
def tolerance_too_wide() -> Iterator[Form]:
    def not_close(rtol: float = 1e-5, atol: float = 1e-8) -> Moved:
        return lambda before, after, i: not np.allclose(after[i], before[i], rtol, atol)

    def rounded(digits: int) -> Moved:
        return lambda before, after, i: (before[i].round(digits) != after[i].round(digits)).any()

    ways: list[Moved] = [
        not_close(),
        not_close(rtol=1e-3, atol=1e-5),
        not_close(rtol=1e-7),
        *map(by_more_than, (1e-5, 1e-4, 1e-2, 0.1)),
        *map(rounded, (2, 4, 5)),
    ]
    for sizes in (BOTH, (1.0,), (100.0,)):
        yield from (leak_by(added(*sizes), way) for way in ways)


@misconception(
    "first_leak",
    "one feature of the output",
    about="small",
    told="Your code looks at one feature of the output only. A leak may show in another.",
    question="Which features of output i may not depend on later inputs?",
)
def one_feature_compared() -> Iterator[Form]:
    def in_feature(feature: int) -> Moved:
        return lambda before, after, i: abs(after[i, feature] - before[i, feature]) > 1e-9

    yield from (leak_by(added(*BOTH), in_feature(feature)) for feature in (0, -1))


@misconception(
    "first_leak",
    "features combined before they are compared",
    about="small",
    told=(
        "Your code makes one number of the features of an output (a sum, a mean, a length) before "
        "it compares. One that goes up and one that goes down can cancel each other."
    ),
    question="What do you see when one feature moves by +1 and another by −1?",
)
def features_summed() -> Iterator[Form]:
    yield leak_by(
        added(*BOTH), lambda before, after, i: abs(after[i].sum() - before[i].sum()) > 1e-9
    )
    yield leak_by(added(*BOTH), lambda before, after, i: abs((after[i] - before[i]).mean()) > 1e-9)
    yield leak_by(
        added(*BOTH),
        lambda before, after, i: abs(np.linalg.norm(after[i]) - np.linalg.norm(before[i])) > 1e-9,
    )


@misconception(
    "first_leak",
    "the sign of the difference",
    about="small",
    told=(
        "Your code compares the difference without its absolute value: an output that goes down is "
        "not noticed (or one that goes up)."
    ),
    question="Is −5 more than 1e-9?",
)
def signed_difference() -> Iterator[Form]:
    ways: list[Moved] = [
        lambda before, after, i: (after[i] - before[i]).max() > 1e-9,
        lambda before, after, i: (before[i] - after[i]).max() > 1e-9,
    ]
    yield from (leak_by(added(*BOTH), way) for way in ways)


@misconception(
    "first_leak",
    "the changed input named",
    about="position",
    told="Your code returns the position whose input was changed. Asked is whose output moved.",
    question="Inputs after i were changed and output i moved: which number is the answer?",
)
def changed_named() -> Iterator[Form]:
    yield leak_by(added(*BOTH), answer=lambda found, length: found[0] + 1 if found else None)


@misconception(
    "first_leak",
    "not the first leak",
    about="position",
    told="Your code returns another leak than the first: the last one, or the largest.",
    question="When does your search stop?",
)
def not_the_first() -> Iterator[Form]:
    yield leak_by(
        added(*BOTH),
        answer=lambda found, length: found[-1] if found else None,
        eager=False,
    )
    yield leak_by(added(*BOTH), positions=lambda length: range(length - 2, -1, -1))

    def largest(fn: Fn, x: Array) -> int | None:
        before = np.array(fn(x))
        raise_unless_finite(before)
        sizes = np.zeros(len(x))
        for position in range(len(x) - 1):
            for edited in added(*SIZES)(x, position):
                after = np.array(fn(edited))
                raise_unless_finite(after)
                moved = np.abs(after[position] - before[position]).max()
                sizes[position] = max(sizes[position], moved)
        return int(np.argmax(sizes)) if sizes.max() > 1e-9 else None

    yield largest


@misconception(
    "first_leak",
    "stops one position early",
    about="position small changes",
    told=(
        "Your search ends one position too early: the last but one still has a later input, the "
        "last one."
    ),
    question="Which is the last position that has a later input, and does your range hold it?",
)
def stops_early() -> Iterator[Form]:
    yield leak_by(added(*BOTH), positions=lambda length: range(length - 2))


@misconception(
    "first_leak",
    "position 0 lost",
    about="position small changes",
    told=(
        "Your code never returns position 0: the search starts after it, or a 0 is taken for "
        "nothing (`0 or None` is None)."
    ),
    question="What is `bool(0)`, and where does your range begin?",
)
def zero_lost() -> Iterator[Form]:
    yield leak_by(added(*BOTH), answer=lambda found, length: (found or [0])[0] or None)
    yield leak_by(added(*BOTH), positions=lambda length: range(1, length - 1))


@misconception(
    "first_leak",
    "another answer for no leak",
    about="right",
    told="Where nothing leaks your code returns something else than None.",
    question="What does your function return when the search ends without a find?",
)
def another_nothing() -> Iterator[Form]:
    def or_else(nothing: Any) -> Callable[[list[int], int], Any]:
        return lambda found, length: found[0] if found else nothing

    nothings: list[Any] = [-1, False, 0, [], "None", math.nan, math.inf]
    yield from (leak_by(answer=or_else(nothing)) for nothing in nothings)
    yield leak_by(answer=lambda found, length: found[0] if found else length)
    yield leak_by(answer=lambda found, length: found[0] if found else length - 1)


@misconception(
    "first_leak",
    "always None",
    about="position small changes finite",
    told="Your code gives None for every function.",
    question="Which line of your code calls fn with changed inputs?",
)
def always_none() -> Iterator[Form]:
    yield lambda fn, x: None


@misconception(
    "first_leak",
    "True or False",
    about="right position small changes",
    told="Your code says whether there is a leak. Asked is where: the position, or None.",
    question="Which position would you look at, given the answer True?",
)
def true_or_false() -> Iterator[Form]:
    yield leak_by(answer=lambda found, length: bool(found))
    yield leak_by(answer=lambda found, length: not found)


@misconception(
    "first_leak",
    "all leaks",
    about="right position small changes",
    told="Your code returns all positions that leak. Asked is the first one, or None.",
    question="Which of them comes first?",
)
def all_leaks() -> Iterator[Form]:
    yield leak_by(answer=lambda found, length: found, eager=False)
    yield leak_by(answer=lambda found, length: np.array(found, dtype=np.int64), eager=False)
    yield leak_by(answer=lambda found, length: found or None, eager=False)


@misconception(
    "first_leak",
    "an error where nothing leaks",
    about="right",
    told="Your code takes the first of the leaks that it found, also when it found none.",
    question="What is the smallest number of an empty list?",
)
def error_for_nothing() -> Iterator[Form]:
    yield leak_by(answer=lambda found, length: found[0], eager=False)
    yield leak_by(answer=lambda found, length: min(found), eager=False)

    def no_later(fn: Fn, x: Array) -> int | None:
        x[1]
        return oracle.first_leak(fn, x)

    yield no_later


@misconception(
    "first_leak",
    "the sequence cut off",
    about="right position",
    told=(
        "Your code gives fn a shorter sequence. fn may count on its length (one mask for all calls,"
        " a mean over S), and a short sequence shows other leaks than a changed one."
    ),
    question="How can later inputs be changed so that the shape of x stays?",
)
def cut_off() -> Iterator[Form]:
    def shorter(before: Array, after: Array, i: int) -> Any:
        return np.abs(after[-1] - before[i]).max() > 1e-9

    def cut(x: Array, i: int) -> Iterator[Array]:
        yield x[: i + 1]

    yield leak_by(cut, shorter)
    yield leak_by(cut, shorter, positions=range)


@misconception(
    "first_leak",
    "what is not finite goes unnoticed",
    about="finite",
    told=(
        "Your code raises nothing where outputs are not finite: it does not ask, or it catches its "
        "own error. Every comparison with NaN is False, so a function that returns nothing but NaN "
        "looks as if it never leaked."
    ),
    question="What is `abs(nan - nan) > 1e-9`?",
)
def not_finite_unnoticed() -> Iterator[Form]:
    def not_within(before: Array, after: Array, i: int) -> Any:
        return not (np.abs(after[i] - before[i]) <= 1e-9).all()

    def any_more(before: Array, after: Array, i: int) -> Any:
        return (np.abs(after[i] - before[i]) > 1e-9).any()

    def not_close(before: Array, after: Array, i: int) -> Any:
        return not np.allclose(after[i], before[i], rtol=0, atol=1e-9)

    for moved in (by_more_than(1e-9), not_within, any_more, not_close):
        yield leak_by(moved=moved, check_first=ask_nothing, check_changed=ask_nothing)


@misconception(
    "first_leak",
    "only the first outputs tested for NaN",
    about="finite",
    told=(
        "Your code tests the outputs of x itself, and not those of the changed inputs. A function "
        "may break under a change only, and then nothing can be said about its leaks."
    ),
    question="How many different inputs does your code give to fn, and which outputs does it test?",
)
def only_first_tested() -> Iterator[Form]:
    yield leak_by(check_changed=ask_nothing)


@misconception(
    "first_leak",
    "infinity let through",
    about="finite",
    told="Your code looks for NaN only. Infinity is not finite either.",
    question="Which NumPy function is False for NaN and for both infinities?",
)
def infinity_let_through() -> Iterator[Form]:
    def raise_for_nan(values: Array) -> None:
        if np.isnan(values).any():
            raise ValueError("NaN")

    yield leak_by(check_first=raise_for_nan, check_changed=raise_for_nan)
    yield leak_by(check_first=raise_for_nan, check_changed=ask_nothing)


@misconception(
    "first_leak",
    "only output i tested for NaN",
    about="finite",
    told=(
        "Your code tests only the outputs that it compares. The promise is about the whole output: "
        "a NaN at a later position says that fn does not work there."
    ),
    question="Which rows of fn's output does your test see?",
)
def only_row_tested() -> Iterator[Form]:
    def checking(rows: Callable[[Array, int], Array], first: bool) -> Form:
        def moved(before: Array, after: Array, i: int) -> Any:
            raise_unless_finite(rows(before, i))
            raise_unless_finite(rows(after, i))
            return np.abs(after[i] - before[i]).max() > 1e-9

        check = raise_unless_finite if first else ask_nothing
        return leak_by(moved=moved, check_first=check, check_changed=ask_nothing)

    for first in (False, True):
        yield checking(lambda values, i: values[i], first)
        yield checking(lambda values, i: values[: i + 1], first)


@misconception(
    "first_leak",
    "another error than ValueError",
    about="finite",
    told=(
        "Your code notices what is not finite, but raises another kind of error. Who calls it "
        "waits for a ValueError; an AssertionError also vanishes when Python runs with -O."
    ),
    question="Which error does `assert` raise, and which is promised?",
)
def another_error() -> Iterator[Form]:
    def raising(kind: type[Exception]) -> Callable[[Array], None]:
        def check(values: Array) -> None:
            if not np.isfinite(values).all():
                raise kind("not finite")

        return check

    for kind in (AssertionError, RuntimeError, FloatingPointError, ArithmeticError, Exception):
        yield leak_by(check_first=raising(kind), check_changed=raising(kind))
        yield leak_by(check_first=raising(kind), check_changed=ask_nothing)


class _NotFinite(Exception):
    """What a form that answers instead of raising uses on its way out."""


@misconception(
    "first_leak",
    "an answer instead of an error",
    about="finite",
    told=(
        "Your code notices what is not finite, and returns an answer. The caller would read it as "
        "a verdict on leaks; there can be none, so a ValueError is promised."
    ),
    question="What would a caller do with the answer that you give?",
)
def answers_instead() -> Iterator[Form]:
    def check(values: Array) -> None:
        if not np.isfinite(values).all():
            raise _NotFinite

    def answering(value: Any, check_changed: Callable[[Array], None]) -> Form:
        inner = leak_by(check_first=check, check_changed=check_changed)

        def first_leak(fn: Fn, x: Array) -> Any:
            try:
                return inner(fn, x)
            except _NotFinite:
                return value

        return first_leak

    for value in (0, -1, False, "not finite"):
        yield answering(value, check)
    yield answering(0, ask_nothing)


@misconception(
    "first_leak",
    "x changed in place",
    about="unchanged",
    told=(
        "Your code changes the caller's x. What it computes afterwards starts from other inputs, "
        "and so does the caller."
    ),
    question="Which line makes a copy before anything is changed?",
)
def changed_x() -> Iterator[Form]:
    def kept_changed(*sizes: float) -> Form:
        def first_leak(fn: Fn, x: Array) -> int | None:
            before = np.array(fn(x))
            raise_unless_finite(before)
            for position in range(len(x) - 1):
                for size in sizes:
                    x[position + 1 :] += size
                    after = np.array(fn(x))
                    raise_unless_finite(after)
                    if np.abs(after[position] - before[position]).max() > 1e-9:
                        return position
            return None

        return first_leak

    def put_back(*sizes: float) -> Form:
        def first_leak(fn: Fn, x: Array) -> int | None:
            before = np.array(fn(x))
            raise_unless_finite(before)
            for position in range(len(x) - 1):
                for size in sizes:
                    x[position + 1 :] += size
                    after = np.array(fn(x))
                    x[position + 1 :] -= size
                    raise_unless_finite(after)
                    if np.abs(after[position] - before[position]).max() > 1e-9:
                        return position
            return None

        return first_leak

    def restored(*sizes: float) -> Form:
        def first_leak(fn: Fn, x: Array) -> int | None:
            before = np.array(fn(x))
            raise_unless_finite(before)
            for position in range(len(x) - 1):
                for size in sizes:
                    saved = x[position + 1 :].copy()
                    x[position + 1 :] += size
                    after = np.array(fn(x))
                    x[position + 1 :] = saved
                    raise_unless_finite(after)
                    if np.abs(after[position] - before[position]).max() > 1e-9:
                        return position
            return None

        return first_leak

    for sizes in (BOTH, SIZES):
        yield from (kept_changed(*sizes), put_back(*sizes), restored(*sizes))
