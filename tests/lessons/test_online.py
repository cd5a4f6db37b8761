"""Lesson 07: the figures its text states, and the limit on memory."""

import math

import numpy as np
import pytest

from grader import course, mutants, oracle, seeds
from grader import notebook as nb
from grader.checks import online
from grader.checks.ask import CheckFailed
from grader.examiner import jail
from grader.examiner.engine import Lesson
from grader.lesson import grade_id
from grader.misconceptions import families, rights
from tests.student import BANK, namespace

NAME = "07-online-softmax"
MIB = 2**20


def demo(name: str) -> dict[str, object]:
    """The names that a demo cell binds, run after the set-up and the solved answers."""
    cells = nb.read(course.lesson(NAME).solution).cells
    (source,) = [cell.source for cell in cells if grade_id(cell) == name]
    names = namespace(course.lesson(NAME)) | {"rng": np.random.default_rng(0)}
    exec(compile(source, name, "exec"), names)
    return names


# --- what the text states -----------------------------------------------------------------------


def test_the_row_by_hand() -> None:
    weights = oracle.softmax(np.log([1.0, 2.0, 8.0, 4.0]))
    assert (weights * 15).round(12).tolist() == [1, 2, 8, 4]
    assert weights @ [3, 6, 0, 9] == pytest.approx(3.4)


@pytest.mark.parametrize("seed", range(3))
def test_the_maximum_of_1000_scores_changes_between_6_and_7_times(seed: int) -> None:
    rows = np.random.default_rng(seed).normal(size=(3000, 1000))
    running = np.maximum.accumulate(rows, axis=1)
    changes = (running[:, 1:] > running[:, :-1]).sum(axis=1).mean()
    expected = math.fsum(1 / n for n in range(2, 1001))
    assert expected == pytest.approx(6.485, abs=1e-3)
    assert changes == pytest.approx(expected, abs=0.25)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("length", [64, 100])
def test_tiles_and_skipped_tiles_give_what_attention_gives(
    seed: int, length: int, capsys: pytest.CaptureFixture[str]
) -> None:
    tiled, skipping = demo("tiled"), demo("skipping")
    Q, K, V = np.random.default_rng(seed).normal(size=(3, length, 8))
    mask = oracle.causal_mask(length)
    expected = oracle.attention(Q, K, V, mask)[0]
    assert np.abs(tiled["tiled_attention"](Q, K, V, 16, mask) - expected).max() < 1e-12
    assert np.abs(skipping["causal_attention"](Q, K, V, 16) - expected).max() < 1e-12


def test_136_of_256_tiles_lie_on_or_below_the_diagonal() -> None:
    tiles = np.tri(16, dtype=bool)
    assert (tiles.sum(), tiles.size, round(tiles.mean(), 2)) == (136, 256, 0.53)
    assert np.tri(6).sum() == 21


# --- memory -------------------------------------------------------------------------------------


def test_the_limit_lies_well_above_what_blocks_need_and_below_every_full_table() -> None:
    Q = K = V = np.full(online.LONG, 0.5)
    peaks = {
        name: online.ask(form, Q, K, V, 32, memory=True).peak / MIB
        for name, form in {
            "blocks": rights("online_attention"),
            "in place": _full_in_place,
            "float32": lambda q, k, v, b: _full_in_place(*(x.astype("f4") for x in (q, k, v)), b),
        }.items()
    }
    assert peaks["blocks"] < 32
    assert peaks["in place"] > 128
    assert peaks["float32"] > 64


def _full_in_place(Q: np.ndarray, K: np.ndarray, V: np.ndarray, block: int) -> np.ndarray:
    scores = Q @ K.T
    scores *= 1 / math.sqrt(Q.shape[-1])
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return np.asarray(scores @ V)


def test_the_memory_is_judged_alike_in_a_kernel_and_in_the_examiner() -> None:
    """The limit, not the bytes: the message is the same to the letter."""
    files = {
        "wrong": BANK / "wrong" / "online_attention__full_score_matrix.py",
        "right": BANK / "right" / "online_attention__recursive_halves.py",
    }
    entry, cell = course.lesson(NAME), "online_attention-memory"
    solved = mutants._solved_answers(entry)
    with Lesson(entry, mutants.QUICK, jail.probe()) as lesson:
        graded = {
            kind: lesson.grade(solved | {"online_attention": path.read_text("utf-8")})
            for kind, path in files.items()
        }
    told = {kind: {c.grade_id: c for c in found.graded}[cell] for kind, found in graded.items()}
    assert told["right"].points == 2
    assert told["wrong"].points == 0
    names: dict[str, object] = {}
    exec(files["wrong"].read_text("utf-8"), names)
    with pytest.raises(CheckFailed) as failed:
        online.memory(names["online_attention"])
    assert str(failed.value) == told["wrong"].message
    assert failed.value.misconception == told["wrong"].misconception == "memory that grows with S²"
    assert "64 MiB" in str(failed.value)


def test_a_mistake_in_the_correction_costs_its_own_point_alone() -> None:
    wanted = {"output not rescaled", "sum not rescaled", "neither sum nor output rescaled"}
    found = [family for family in families("online_attention") if family.name in wanted]
    assert len(found) == 3
    for family in found:
        for check in (
            online.output, online.scale, online.tail, online.mask, online.masked, online.empty,
            online.far, online.lead, online.kinds,
        ):  # fmt: skip
            check(family.forms[0])
        with pytest.raises(CheckFailed):
            online.rescale(family.forms[0])


def test_no_table_of_answers_passes_under_another_seed() -> None:
    first = online._falling("rescale", 4)
    seeds.fold_in(b"other")
    other = online._falling("rescale", 4)
    seeds.fold_in(b"")
    assert (first != other).any()
