"""Mistakes of form that every function which makes a mask invites, whatever its rule.

Told once, for each exercise that asks for such a function; rules stand with their lesson."""

from collections.abc import Callable
from typing import Any

import numpy as np

from grader.misconceptions.family import Form, misconception

Array = np.ndarray
Finish = Callable[[Array], Any]
NUMBERS = (np.float64, np.int64, np.float32, np.int32, np.int8, np.uint8)


def as_type(dtype: Any) -> Finish:
    """A cast of the finished mask."""
    return lambda mask: mask.astype(dtype)


def mistakes_of_form(
    exercise: str, shape: str, pattern: str, finished: Callable[[Finish], Form]
) -> None:
    """Register them for `exercise`: `finished` makes the right mask and changes it at the end.

    `shape` is the mask's, in words; `pattern` names the mechanisms that look at what it hides.
    """
    misconception(
        exercise,
        "numbers instead of booleans",
        about="form",
        told=(
            "Your mask holds the numbers 1 and 0. As an index or after `~` they mean something "
            "else than True and False: `~1` is −2."
        ),
        question="Which dtype has your mask, and which function of NumPy gave it that?",
    )(lambda: (finished(as_type(dtype)) for dtype in NUMBERS))
    misconception(
        exercise,
        "axes for batch and heads",
        about="form",
        told="Your mask has further axes of length 1 in front. Broadcasting adds those by itself.",
        question=f"To which shape does a mask of shape {shape} broadcast beside the scores?",
    )(lambda: iter([finished(lambda mask: mask[None]), finished(lambda mask: mask[None, None])]))
    misconception(
        exercise,
        "a list of lists",
        about=f"{pattern} form",
        told="Your function returns a list. Lists do not broadcast, and `~` does not work on them.",
        question="Which NumPy function makes an array of a list of lists?",
    )(lambda: iter([finished(lambda mask: mask.tolist())]))
    misconception(
        exercise,
        "nothing returned",
        about=f"{pattern} form",
        told="Your function returns None: it makes a mask and keeps it to itself.",
        question="How does what a function has made reach the one who called it?",
    )(lambda: iter([finished(lambda mask: None)]))
