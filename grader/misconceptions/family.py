"""What a misconception is, and how a lesson's file tells of one. Imports nothing of ours."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Form = Callable[..., Any]


@dataclass(frozen=True)
class Family:
    """One misconception: the forms it takes, and what a student who holds it is told.

    `about` names the mechanisms that it gets wrong, as the checks name theirs. `told` says what
    the code does and why that is wrong, `question` leads on; neither holds the answer. `source` is
    a public issue or a paper in which people got it wrong.
    """

    exercise: str
    name: str
    about: frozenset[str]
    told: str
    question: str
    source: str
    forms: tuple[Form, ...]


_families: dict[str, list[Family]] = {}
_rights: dict[str, Form] = {}


def misconception(
    exercise: str, name: str, about: str, told: str, question: str, source: str = ""
) -> Callable[[Callable[[], Iterator[Form]]], Callable[[], Iterator[Form]]]:
    """Register a function that yields the forms of a misconception; `about` is words in a row."""

    def register(forms: Callable[[], Iterator[Form]]) -> Callable[[], Iterator[Form]]:
        family = Family(
            exercise, name, frozenset(about.split()), told, question, source, tuple(forms())
        )
        _families.setdefault(exercise, []).append(family)
        return forms

    return register


def right(exercise: str) -> Callable[[Form], Form]:
    """Register an implementation that keeps every promise of the exercise."""

    def register(form: Form) -> Form:
        _rights[exercise] = form
        return form

    return register


def families(exercise: str) -> list[Family]:
    """The misconceptions of an exercise, in the order of their file."""
    return _families.get(exercise, [])


def rights(exercise: str) -> Form:
    """The right implementation of an exercise."""
    return _rights[exercise]
