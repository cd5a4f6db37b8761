"""What any mask is asked, in every lesson that builds one: its pairs, its dtype, its shape.

Says what a table must hold; which mask it is, and what it is for, is the check's business."""

import numpy as np

from grader.checks.ask import Answer, kind_of


def must_be_mask(seen: Answer, expected: np.ndarray, why: str) -> None:
    """The right pairs are True, whatever the dtype and axes of length 1."""
    pairs = must_be_pairs(seen, expected.shape)
    seen.demand(bool((pairs == expected).all()), "wrong pairs", why, expected)


def must_be_pairs(seen: Answer, shape: tuple[int, ...]) -> np.ndarray:
    """Which pairs the answer allows, (…, S_q, S_k), whatever its dtype and axes of length 1."""
    value = seen.value
    if not isinstance(value, np.ndarray):
        seen.fail(f"returns {kind_of(value)}", f"It must return an array of shape {shape}.")
    pairs = _in_shape(value, shape)
    if pairs is None:
        why = f"The result has shape {value.shape}; it must have shape {shape}."
        seen.fail("wrong shape", why)
    return pairs


def _in_shape(value: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
    """The truth of `value` in this shape, if they differ in axes of length 1 at most.

    A padding mask that was repeated for each query is taken back to one row.
    """
    truth = value.astype(bool)
    if len(shape) == 3 and shape[1] == 1 and truth.shape == (shape[0], shape[2], shape[2]):
        return np.asarray(truth.any(axis=1, keepdims=True))
    return truth.reshape(shape) if long_axes(truth.shape) == long_axes(shape) else None


def must_be_boolean(seen: Answer, shape: tuple[int, ...], why: str = "") -> None:
    """A boolean array of exactly this shape."""
    value = seen.value
    if not isinstance(value, np.ndarray):
        seen.fail(f"returns {kind_of(value)}", f"It must return an array of shape {shape}.")
    if value.shape != shape:
        told = f"The result has shape {value.shape}; it must have shape {shape}. {why}"
        seen.fail("wrong shape", told)
    why = (
        "A mask holds True and False. A number would have to be explained: "
        "does 0 hide a key, or is it what is added to its score?"
    )
    seen.demand(value.dtype == bool, f"{value.dtype}, not boolean", why)


def long_axes(shape: tuple[int, ...]) -> list[int]:
    """The lengths that are more than 1."""
    return [length for length in shape if length > 1]
