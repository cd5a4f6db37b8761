"""The tests of the tests: every misconception is caught and named, and nothing else is."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from grader import kill_table, mutants
from grader.checks import softmax as checks
from grader.checks.ask import CheckFailed
from grader.checks.shrink import on_smallest
from grader.cli import app
from grader.misconceptions import families

ROOT = Path(__file__).resolve().parents[2]
BANK = ROOT / "tests" / "bank"


@pytest.fixture(scope="module")
def forms() -> list[mutants.Tried]:
    return mutants.forms()


@pytest.fixture(scope="module")
def built_in(forms: list[mutants.Tried]) -> mutants.Report:
    return mutants.Report([tried.as_wrong() for tried in forms])


@pytest.fixture(scope="module")
def bank() -> mutants.Report:
    return mutants.of_bank(BANK)


def test_every_form_of_every_misconception_is_caught(built_in: mutants.Report) -> None:
    assert [wrong.name for wrong in built_in.wrong if wrong.killed_by is None] == []
    assert len(built_in.wrong) > 150


def test_every_form_gets_the_name_of_its_family(built_in: mutants.Report) -> None:
    misnamed = [
        (wrong.name, wrong.misconception)
        for wrong in built_in.wrong
        if wrong.misconception != wrong.name.rpartition(", form ")[0]
    ]
    assert misnamed == []


def test_another_name_is_only_given_for_another_mechanism(
    forms: list[mutants.Tried],
) -> None:
    """Code may hold a second mistake, but two names about one mechanism cannot both be right."""
    about = {(tried.exercise, tried.family): tried.about for tried in forms}
    wrongly = [
        (tried.family, cell.misconception)
        for tried in forms
        for cell in tried.failed
        if cell.misconception not in (None, tried.family)
        and about[tried.exercise, cell.misconception] & about[tried.exercise, tried.family]
    ]
    assert wrongly == []


def test_the_bank_is_caught_and_right_ones_get_every_point(bank: mutants.Report) -> None:
    assert [wrong.name for wrong in bank.wrong if wrong.killed_by is None] == []
    assert [(right.name, right.failed) for right in bank.right if right.failed] == []
    assert sum(right.max_points > 0 for right in bank.right) >= 4


def test_files_of_lessons_to_come_are_listed_as_such(tmp_path: Path) -> None:
    (tmp_path / "wrong").mkdir()
    (tmp_path / "wrong" / "hyperbolic__upside_down.py").write_text("def hyperbolic(x): return x\n")
    done = CliRunner().invoke(app, ["mutants", "--bank", str(tmp_path), "--json"])
    assert done.exit_code == 0
    assert json.loads(done.stdout) == {
        "wrong": [
            {
                "exercise": "hyperbolic",
                "name": "upside_down",
                "killed_by": "no lesson",
                "misconception": None,
            }
        ],
        "right": [],
    }


def test_a_survivor_and_a_right_one_that_loses_points_fail_the_command(tmp_path: Path) -> None:
    right = (BANK / "right" / "softmax__exp2_log2e.py").read_text()
    wrong = (BANK / "wrong" / "softmax__first_axis.py").read_text()
    for side, text in (("wrong", right), ("right", wrong)):
        (tmp_path / side).mkdir()
        (tmp_path / side / "softmax__swapped.py").write_text(text)
    done = CliRunner().invoke(app, ["mutants", "--bank", str(tmp_path), "--json"])
    told = json.loads(done.stdout)
    assert done.exit_code == 1
    assert told["wrong"][0]["killed_by"] is None
    assert told["right"][0]["failed"] == ["softmax-values", "softmax-axis"]


def test_the_kill_table_is_what_the_command_finds_now(
    built_in: mutants.Report, bank: mutants.Report
) -> None:
    page = (ROOT / kill_table.PAGE).read_text("utf-8")
    assert page == kill_table.text(built_in, bank), "run: python -m grader mutants --table"


def test_a_code_that_is_wrong_in_a_new_way_gets_no_name() -> None:
    def shuffled(scores: np.ndarray, axis: int = -1) -> np.ndarray:
        e = np.exp(scores - scores.max(axis=axis, keepdims=True))
        return np.roll(e / e.sum(axis=axis, keepdims=True), 1, axis=axis)

    with pytest.raises(CheckFailed) as failed:
        checks.values(shuffled)
    assert failed.value.misconception is None


def test_the_input_shown_is_the_smallest_on_which_it_fails() -> None:
    (family,) = (family for family in families("softmax") if family.name == "first axis")
    with pytest.raises(CheckFailed) as failed:
        checks.values(family.forms[0])
    text = str(failed.value)
    assert "softmax(np.array([[0.0, 0.0]]))" in text
    assert "returned  [[1, 1]]" in text
    assert "expected  [[0.5, 0.5]]" in text


def test_shrinking_keeps_the_kind_of_failure() -> None:
    def judge(array: np.ndarray) -> None:
        if array.ndim == 2 and array.shape[1] >= 2 and array.max() > 2:
            raise CheckFailed("wide and large", str(array.tolist()))
        if array.size:
            raise CheckFailed("something else", "")

    with pytest.raises(CheckFailed) as failed:
        on_smallest(judge, np.array([[1.5, 7.25, 0.5], [2.5, -3.0, 0.25]]))
    assert failed.value.title == "wide and large"
    assert str(failed.value) == "[[3.0, 0.0]]"
