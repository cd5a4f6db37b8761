"""Makes the input on which a check fails small enough to redo by hand.

Knows arrays and failures, nothing of exercises."""

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from grader.checks.ask import CheckFailed

Seen = TypeVar("Seen")
MOST_TRIES = 200
MOST_SECONDS = 0.2  # reached only when the student's function is slow


def on_smallest(judge: Callable[[np.ndarray], Seen], array: np.ndarray) -> Seen:
    """`judge(array)`; if that fails, fail on the smallest input found that fails in the same way.

    Smaller is first a shorter axis, then values that are small integers.
    """
    try:
        return judge(array)
    except CheckFailed as failed:
        title = failed.title
        if failed.status != "failed":
            raise
        smallest = _smallest(lambda candidate: _title(judge, candidate) == title, array)
        if smallest is array:
            raise
    return judge(smallest)


def _title(judge: Callable[[np.ndarray], object], candidate: np.ndarray) -> str | None:
    try:
        judge(candidate)
    except CheckFailed as failed:
        return failed.title
    return None


def _smallest(fails: Callable[[np.ndarray], bool], array: np.ndarray) -> np.ndarray:
    """Take the first smaller candidate that still fails, until there is none or time is up."""
    until, tries = time.monotonic() + MOST_SECONDS, 0
    searching = True
    while searching:
        searching = False
        for candidate in _smaller(array):
            tries += 1
            if tries > MOST_TRIES or time.monotonic() > until:
                return array
            if fails(candidate):
                array, searching = candidate, True
                break
    return array


def _smaller(array: np.ndarray) -> Iterator[np.ndarray]:
    """Arrays a step smaller than this one, the boldest step first."""
    for axis, length in enumerate(array.shape):
        for index in range(length if length > 1 else 0):
            yield np.delete(array, index, axis)
    yield from _simpler(array)


def _simpler(array: np.ndarray) -> Iterator[np.ndarray]:
    """The same shape with one value, or all of them, nearer to 0 or whole."""
    rounded = np.round(array) + 0.0  # no −0.0
    if (rounded != array).any():
        yield rounded
    for index in np.ndindex(*array.shape):
        value = float(array[index])
        for simple in (0.0, 1.0, *_nearer(value)):
            if _size(simple) < _size(value):
                changed = array.copy()
                changed[index] = simple
                yield changed


def _nearer(value: float) -> tuple[float, ...]:
    """Whole numbers: about half of the value, and the next one away from 0."""
    if not np.isfinite(value):
        return ()
    return float(np.trunc(value / 2)) + 0.0, float(np.copysign(np.ceil(abs(value)), value))


def _size(value: float) -> tuple[bool, float, bool]:
    """What makes a number hard to redo by hand: fractions, then magnitude, then a sign."""
    return (bool(value != np.trunc(value)), abs(value), value < 0)
