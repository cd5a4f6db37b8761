"""Every graded cell asks something that the course's secret changes.

So no table of answers, made with the public numbers, earns a point in a class."""

import pkgutil
from importlib import import_module

import pytest

from grader import checks, seeds
from grader.checks.ask import call_text
from grader.checks.diagnose import Question, probes, questions

for module in pkgutil.iter_modules(checks.__path__):
    import_module(f"grader.checks.{module.name}")


def asked(question: Question, secret: bytes) -> list[str]:
    seeds.fold_in(secret)
    try:
        made = probes(question, secret)
    finally:
        seeds.fold_in(b"")
    return [call_text(question.exercise, probe.args, probe.kwargs, "") for probe in made]


@pytest.mark.parametrize("question", questions, ids=lambda question: question.check.__name__)
def test_the_secret_changes_what_is_asked(question: Question) -> None:
    public = asked(question, b"")
    assert public == asked(question, b"")
    assert public != asked(question, b"the secret of a class")
