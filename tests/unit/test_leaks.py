"""What first_leak may rely on: every example keeps what the contract promises of it."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from grader import oracle
from grader.checks import leaks
from grader.checks.leaks import BROKEN, LEAKS, RIGHT, Example
from grader.checks.masks import inputs

SEEDS = range(8)


def name(example: Example) -> str:
    return example.name


def changes(shape: tuple[int, int], first: int, size: float) -> Iterator[np.ndarray]:
    """± the size on all later inputs, then with every pattern of signs."""
    later = (shape[0] - first) * shape[1]
    for signs in itertools.product((1.0, -1.0), repeat=later):
        change = np.zeros(shape)
        change[first:] = size * np.reshape(signs, (-1, shape[1]))
        yield change


def moved(example: Example, x: np.ndarray, position: int, size: float) -> np.ndarray:
    """By how much each pattern of changes after `position` moves its output."""
    before = example(x)[position]
    after = [example(x + c)[position] for c in changes(x.shape, position + 1, size)]
    return np.abs(np.array(after) - before).max(axis=-1)


@pytest.mark.parametrize("example", LEAKS, ids=name)
def test_a_leak_shows_under_every_pattern_of_signs_and_nowhere_earlier(example: Example) -> None:
    assert example.position is not None
    for seed in SEEDS:
        x = inputs(str(seed), (4, 2))
        one, hundred = (moved(example, x, example.position, size) for size in (1.0, 100.0))
        assert (one.min() >= 1e-6) or (hundred.min() >= 1e-6)
        for earlier in range(example.position):
            for size in (1.0, 100.0):
                assert moved(example, x, earlier, size).max() <= 1e-12


@pytest.mark.parametrize("example", RIGHT, ids=name)
@pytest.mark.parametrize("shape", [(4, 2), (3, 3)])
def test_a_right_one_stays_where_it_is(example: Example, shape: tuple[int, int]) -> None:
    for seed in SEEDS:
        x = inputs(str(seed), shape)
        for position, size in itertools.product(range(shape[0] - 1), (1.0, 100.0, 1e4)):
            assert moved(example, x, position, size).max() <= 1e-12
            assert np.isfinite(example(x)).all()


def test_one_right_function_differs_in_its_last_bits() -> None:
    example = leaks.BY_NAME["global maximum"]
    x = inputs("bits", (4, 2))
    differ = [
        (example(x + change)[:2] != example(x)[:2]).any() for change in changes(x.shape, 2, 1.0)
    ]
    assert any(differ)


@pytest.mark.parametrize("example", BROKEN, ids=name)
def test_a_broken_one_shows_it_under_every_change_and_does_not_leak(example: Example) -> None:
    x = inputs("broken", (3, 2))
    for position, size in itertools.product(range(2), (1.0, 100.0)):
        for change in changes(x.shape, position + 1, size):
            after = example(x + change)
            assert not np.isfinite(after).all()
            before = example(x)[position]
            assert np.array_equal(after[position], before, equal_nan=True)


def test_the_oracle_says_what_the_table_says() -> None:
    x = inputs("oracle", (4, 2))
    for example in (*RIGHT, *LEAKS):
        assert oracle.first_leak(example.fn, x) == example.position, example.name
    for example in BROKEN:
        with pytest.raises(ValueError, match="finite"):
            oracle.first_leak(example.fn, x)
