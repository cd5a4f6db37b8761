"""What graded cells ask: something that the secret changes, and nothing that changes afterwards.

So no table of answers, made with the public numbers, earns a point in a class; and a question that
is put once more, to the student or to a known mistake, is the same question."""

import io
import pkgutil
from contextlib import redirect_stdout, suppress
from importlib import import_module

import pytest

from grader import checks, seeds
from grader.checks import script
from grader.checks.ask import CheckFailed, Probe, call_text, recording
from grader.checks.diagnose import Question, probes, questions
from grader.misconceptions import families, rights

for module in pkgutil.iter_modules(checks.__path__):
    import_module(f"grader.checks.{module.name}")


def asked(question: Question, secret: bytes) -> list[str]:
    seeds.fold_in(secret)
    try:
        made = probes(question, secret)
    finally:
        seeds.fold_in(b"")
    return [text_of(question, probe) for probe in made]


def text_of(question: Question, probe: Probe) -> str:
    """What is asked, as code."""
    if probe.put is script.play:
        return script.text(*probe.args)
    return call_text(question.exercise, probe.args, probe.kwargs, "")


@pytest.mark.parametrize("question", questions, ids=lambda question: question.check.__name__)
def test_the_secret_changes_what_is_asked(question: Question) -> None:
    public = asked(question, b"")
    assert public == asked(question, b"")
    assert public != asked(question, b"the secret of a class")


@pytest.mark.parametrize("question", questions, ids=lambda question: question.check.__name__)
def test_a_check_never_overwrites_what_it_asked_with(question: Question) -> None:
    """Whatever the answer was: the right one, or that of a mistake of each kind."""
    mistakes = [
        family.forms[0]
        for family in families(question.exercise)
        if question.about != "memory" or "memory" in family.about  # which takes long
    ]
    right = rights(question.exercise)
    for form in (right, *mistakes):
        with recording() as made, redirect_stdout(io.StringIO()), suppress(CheckFailed):
            question.check(*question.with_rights(form))
        assert made or form is not right
        for each in made:
            assert each.call.startswith(text_of(question, each.probe))
