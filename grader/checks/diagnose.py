"""Says which mistake it is, by simulation: the student's code and every known wrong form are
asked the same things, and a name is given only when all forms that answer alike share it.

Asked is what the failing check asks, nothing else: what the code does elsewhere is no evidence."""

import functools
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import Any

import numpy as np

from grader import ahead, seeds
from grader.checks.ask import (
    FLOAT32,
    WIDTH,
    Answer,
    Asked,
    CheckFailed,
    Probe,
    Tolerance,
    labelled,
    recording,
)
from grader.misconceptions import Family, families, rights
from grader.misconceptions.family import Form
from grader.observe import TIME_LIMIT, Handle, Observed

Check = Callable[..., None]
Alike = Callable[[Observed, Observed], bool]
ALIKE = {"float16": Tolerance(1e-3, 1e-6), "float32": FLOAT32}
MOST_PROBES = 40


def graded(
    exercise: str, about: str, also: Sequence[tuple[Any, ...]] = (), beside: Sequence[str] = ()
) -> Callable[[Check], Check]:
    """Make a check of this exercise, which asks about one mechanism, name the mistake if it fails.

    `also` are arguments of calls that are made for the diagnosis only, where what the check asks
    would leave two misconceptions alike. `beside` names other exercises whose answers the check
    takes as well, after its own.
    """
    extra = tuple(Probe(args, {}) for args in also)

    def decorate(check: Check) -> Check:
        question = Question(exercise, about, check, extra, tuple(beside))
        questions.append(question)
        ahead.work.append(lambda: answer_all(question))

        @functools.wraps(check)
        def named(*things: Any) -> None:
            said = StringIO()
            try:
                with recording() as asked, redirect_stdout(said):
                    check(*things)
                _must_answer_alike(question, asked, things)
            except CheckFailed as failed:
                if failed.status != "failed" or failed.misconception:
                    raise
                family = diagnose(question, *things)
                raise (told(failed, family) if family else failed) from None
            print(said.getvalue(), end="")

        return named

    return decorate


@dataclass(frozen=True)
class Question:
    """What a check asks: of which exercise, about which mechanism, and what more to tell by."""

    exercise: str
    about: str
    check: Check
    extra: tuple[Probe, ...] = ()
    beside: tuple[str, ...] = ()

    def with_rights(self, form: Form) -> tuple[Form, ...]:
        """What the check takes, with `form` for its exercise and the rest right."""
        return (form, *map(rights, self.beside))

    def __hash__(self) -> int:
        return hash((self.exercise, self.check))


questions: list[Question] = []  # of every check that was imported


def told(failed: CheckFailed, family: Family) -> CheckFailed:
    """The failure with the name of the mistake, why it is one, and the question that leads on."""
    paragraphs = [family.told, family.question]
    text = "\n\n".join(textwrap.fill(paragraph, WIDTH) for paragraph in paragraphs)
    renamed = CheckFailed(failed.title, f"{failed}\n\n{text}")
    renamed.misconception = family.name
    return renamed


def must_stay_below(seen: Answer, limit: int) -> None:
    """The peak of a call below the limit, in bytes, or the name of the mistake about memory.

    Told is the limit alone: what is measured differs between places, and what it means is known
    without a simulation."""
    if seen.peak < limit:
        return
    (family,) = (f for f in families(seen.exercise) if "memory" in f.about)
    title = f"more than {limit >> 20} MiB at once"
    lines = [f"✗ {seen.exercise}: {title}", *labelled("call", seen.call)]
    raise told(CheckFailed(title, "\n".join(lines)), family)


def diagnose(question: Question, *things: Any) -> Family | None:
    """The one family whose forms behave like `things` on everything that is asked, if any.

    Only families about the mechanism that is asked about can be named: on a few calls that ask
    for something else, a mistake may look like many others.
    """
    seen: list[Observed] = []
    for probe in probes(question, seeds.secret()):
        seen.append(_ask(things, probe))
        if seen[-1].error and seen[-1].error.kind == TIME_LIMIT:
            return None
    for same in (_alike, _alike_but_for_changes):
        named = {family.name: family for family in _families_like(question, seen, same)}
        if named:
            return next(iter(named.values())) if len(named) == 1 else None
    return None


def _families_like(question: Question, seen: list[Observed], same: Alike) -> list[Family]:
    """The families of which a form answers everything as `seen`; the telling probes go first."""
    secret = seeds.secret()
    right = rights(question.exercise)
    as_right = [same(s, answer(question, secret, right, i)) for i, s in enumerate(seen)]
    if all(as_right):
        return []
    about_it = [f for f in families(question.exercise) if question.about in f.about]
    left = [(family, form) for family in about_it for form in family.forms]
    for index in sorted(range(len(seen)), key=as_right.__getitem__):
        left = [
            (family, form)
            for family, form in left
            if same(seen[index], answer(question, secret, form, index))
        ]
    return [family for family, _ in left]


@functools.cache
def probes(question: Question, secret: bytes) -> tuple[Probe, ...]:
    """What is asked of a right implementation, in order; `secret` tells whose numbers."""
    with recording() as asked, redirect_stdout(StringIO()):
        question.check(*question.with_rights(rights(question.exercise)))
    return (*(each.probe for each in asked[:MOST_PROBES]), *question.extra)


@functools.cache
def answer(question: Question, secret: bytes, form: Form, index: int) -> Observed:
    """What a known implementation answers to one of the probes, computed once."""
    return _ask(question.with_rights(form), probes(question, secret)[index])


def answer_all(question: Question) -> Iterator[None]:
    """Compute what every form answers to every probe, for the seed that is folded in now."""
    secret = seeds.secret()
    forms = [form for family in families(question.exercise) for form in family.forms]
    for form in (rights(question.exercise), *forms):
        for index in range(len(probes(question, secret))):
            answer(question, secret, form, index)
            yield


def _ask(things: tuple[Any, ...], probe: Probe) -> Observed:
    return probe.put(*things, *probe.args, **probe.kwargs)


def _must_answer_alike(question: Question, asked: list[Asked], things: tuple[Any, ...]) -> None:
    """Put the first probe once more: whoever knew what was asked last must know it again."""
    for first in asked[:1]:
        again = Answer(question.exercise, first.call, _ask(things, first.probe))
        if not first.seen.error:
            again.refuse_error()
        if not _alike(first.seen, again.seen):
            again.fail(
                "another answer the second time",
                "The same question was asked twice, and the answers differ (expected is the first "
                "one). Does your code keep something from one call to the next, or draw random "
                "numbers of its own?",
                first.seen.value,
            )


# --- alike ------------------------------------------------------------------------------------


def _alike(left: Observed, right: Observed) -> bool:
    """Whether two calls did the same: value, exception, changed arguments."""
    return left.changed == right.changed and _alike_but_for_changes(left, right)


def _alike_but_for_changes(left: Observed, right: Observed) -> bool:
    if left.error or right.error:
        return bool(left.error and right.error and left.error.kind == right.error.kind)
    return alike(left.value, right.value)


def alike(left: Any, right: Any) -> bool:
    """Whether two values are the same but for rounding; NaN is like NaN, and types count."""
    if type(left) is not type(right):
        return False
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and left.shape == right.shape and _close(left, right)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(alike, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(alike(left[key], right[key]) for key in left)
    if isinstance(left, Handle):
        return bool(left.type_name == right.type_name)
    if isinstance(left, float | complex):
        return _close(np.array(left), np.array(right))
    return bool(left == right)


def _close(left: np.ndarray, right: np.ndarray) -> bool:
    if left.dtype.kind not in "fc":
        return bool((left == right).all())
    tolerance: Tolerance = ALIKE.get(str(left.dtype), Tolerance(1e-9, 1e-12))
    wide, other = left.astype(np.complex128), right.astype(np.complex128)
    equal = (left == right) | (np.isnan(left) & np.isnan(right))
    if ((left == 0) != (right == 0)).any():
        return False  # hidden and nearly hidden are two things
    with np.errstate(invalid="ignore"):
        return bool((equal | tolerance.allows(wide, other)).all())
