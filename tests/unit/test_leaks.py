"""What first_leak may rely on: every example keeps what the contract promises of it."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from grader import oracle, seeds
from grader.checks import leaks, masks
from grader.checks.leaks import BROKEN, LEAKS, RIGHT, Example
from grader.checks.masks import inputs

SEEDS = range(8)
ATTENTION = (
    masks.weights, masks.scale, masks.output, masks.hidden, masks.dominant, masks.low,
    masks.empty, masks.kinds, masks.unchanged,
)  # fmt: skip


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
    for x in leaks.ROUNDED:
        for size in (1.0, -1.0, 100.0, -100.0):
            changed = x.copy()
            changed[2:] += size
            assert (example(changed)[1] != example(x)[1]).any()


@pytest.mark.parametrize("example", BROKEN, ids=name)
def test_a_broken_one_shows_it_under_every_change_and_does_not_leak(example: Example) -> None:
    x = leaks.KNOWN
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
            oracle.first_leak(example.fn, leaks.KNOWN)


@pytest.mark.parametrize("secret", [b"", b"another", b"a third"])
def test_the_oracle_passes_every_check(secret: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    seeds.fold_in(secret)
    try:
        for check in (masks.leak_right, masks.leak_position, masks.leak_small, masks.leak_changes):
            check(oracle.first_leak)
        for check in (masks.leak_finite, masks.leak_unchanged):
            check(oracle.first_leak)
        for check in (masks.causal_square, masks.causal_cache, masks.causal_boolean):
            check(oracle.causal_mask)
        for check in (masks.padding_right, masks.padding_left, masks.padding_form):
            check(oracle.padding_mask)
        for check in (masks.document_values, masks.document_batch):
            check(oracle.document_mask)
        for check in ATTENTION:
            check(oracle.attention)
    finally:
        seeds.fold_in(b"")
    assert capsys.readouterr().out.count("✓") == 23
