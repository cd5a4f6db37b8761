"""What a lesson takes over from earlier ones is, to the letter, what they built."""

import ast

import pytest

from grader import course
from grader import notebook as nb
from grader.course import Lesson
from grader.lesson import Kind, grade_id, kind

LESSONS = course.lessons()


def definitions(entry: Lesson, *kinds: Kind) -> dict[str, str]:
    """Name → definition of every function and class in the cells of these kinds."""
    cells = [cell for cell in nb.read(entry.solution).cells if kind(cell) in kinds]
    nodes = [node for cell in cells for node in ast.parse(cell.source).body]
    named = [n for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    return {node.name: ast.dump(node) for node in named}


@pytest.mark.parametrize("later", LESSONS[1:], ids=lambda later: later.name)
def test_it_is_the_earlier_solution(later: Lesson) -> None:
    built: dict[str, str] = {}
    for earlier in LESSONS[: LESSONS.index(later)]:
        built |= definitions(earlier, Kind.ANSWER)
    taken = definitions(later, Kind.SETUP)
    assert taken, "every lesson builds on an earlier one"
    assert taken == {name: built[name] for name in taken}


@pytest.mark.parametrize("later", LESSONS[1:], ids=lambda later: later.name)
def test_it_stands_in_a_cell_of_its_own(later: Lesson) -> None:
    cells = [c for c in nb.read(later.released).cells if kind(c) is Kind.SETUP]
    assert [grade_id(cell) for cell in cells] == ["setup", "earlier"]
