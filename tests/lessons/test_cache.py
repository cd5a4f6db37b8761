"""Lesson 08: what it states is so, and a script says what was done."""

import numpy as np
import pytest

from grader import course, oracle
from grader.checks import cache as checks
from grader.checks import script
from grader.checks.ask import CheckFailed, recording
from grader.checks.script import Append, AppendThenOverwrite, New, Read, Step, pieces, play
from tests.student import namespace

SOLVED = namespace(course.lesson("08-kv-cache"))
KVCache, decode_step = SOLVED["KVCache"], SOLVED["decode_step"]


def chunks(rng, length):
    """A random way to cut a text of this length."""
    ends = np.flatnonzero(rng.random(length - 1) < 0.4) + 1
    return list(zip([0, *ends], [*ends, length], strict=True))


@pytest.mark.parametrize("seed", range(5))
def test_any_chunking_is_the_full_pass_to_rounding(seed):
    rng = np.random.default_rng(seed)
    Q, K, V = rng.normal(size=(3, 2, 3, 40, 5))
    expected = oracle.attention(Q, K, V, oracle.causal_mask(40))[0]
    cache, outputs = KVCache(), []
    for i, j in chunks(rng, 40):
        outputs.append(decode_step(*(part[..., i:j, :] for part in (Q, K, V)), cache))
    assert np.abs(np.concatenate(outputs, axis=-2) - expected).max() < 1e-14
    assert len(cache) == 40


@pytest.mark.parametrize("seed", range(3))
def test_two_texts_in_turns_do_not_meet(seed):
    rng = np.random.default_rng(seed)
    texts = rng.normal(size=(2, 3, 12, 4))
    caches, outputs = (KVCache(), KVCache()), ([], [])
    for t in range(12):
        for text, cache, output in zip(texts, caches, outputs, strict=True):
            output.append(decode_step(*text[:, t : t + 1], cache))
    for (Q, K, V), output in zip(texts, outputs, strict=True):
        expected = oracle.attention(Q, K, V, oracle.causal_mask(12))[0]
        assert np.abs(np.concatenate(output) - expected).max() < 1e-14


def test_the_ratio_of_scores_is_what_the_lesson_says():
    for n in (5, 1000, 1024):
        tables, rows = sum(t * t for t in range(1, n + 1)), sum(range(1, n + 1))
        assert 3 * tables == (2 * n + 1) * rows
    assert (sum(t * t for t in range(1, 6)), sum(range(1, 6))) == (55, 15)


@pytest.mark.parametrize("seed", range(3))
def test_keys_of_a_second_layer_stay_only_under_a_causal_mask(seed):
    x, W = np.random.default_rng(seed).normal(size=(2, 6, 6))

    def second_layer(x, mask):
        return (x + oracle.attention(x, x, x, mask)[0]) @ W

    for causal, moves in ((True, False), (False, True)):
        old, new = (second_layer(x[:n], oracle.causal_mask(n) if causal else None) for n in (5, 6))
        assert bool(np.abs(new[:5] - old).max() > 1e-3) == moves


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("seed", range(3))
def test_positions_and_padding_mask_make_a_batch_equal_to_texts_alone(seed, side):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 7, 4)
    places = rng.normal(size=(7, 5))
    ids = SOLVED["position_ids"](lengths, 7, side)
    real = SOLVED["padding_mask"](lengths, 7, side)
    batch = rng.normal(size=(4, 7, 5))
    x = batch + places[ids]
    output = oracle.attention(x, x, x, real & oracle.causal_mask(7))[0]
    for item, length in enumerate(lengths):
        text = batch[item][real[item, 0]] + places[:length]
        alone = oracle.attention(text, text, text, oracle.causal_mask(length))[0]
        assert np.abs(output[item][real[item, 0]] - alone).max() < 1e-12


# --- scripts ------------------------------------------------------------------------------------

K, V = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array([[10.0], [20.0], [30.0]])


@pytest.mark.parametrize(
    "lines",
    [
        (Append(K, V), Read("keys")),
        (Append(K, V, pieces([1, 2], 3)), Read("values")),
        (AppendThenOverwrite(K, V), Read("keys")),
        (Append(K[:1], V[:1]), Step(K[1:], K[1:], V[1:])),
        (Step(K, K, V, pieces([2, 1], 3)),),
    ],
)
def test_a_script_reads_as_what_it_does(lines):
    """The text of a failing script, run in a kernel, gives what the check saw."""
    *_, last = play(oracle.decode_step, oracle.KVCache, (New(), *lines)).value
    names = {"np": np, "KVCache": oracle.KVCache, "decode_step": oracle.decode_step}
    *before, shown = script.text((New(), *lines)).split("\n")
    exec("\n".join(before), names)
    np.testing.assert_equal(eval(shown, names), last)


def test_pieces_end_where_the_text_ends():
    assert pieces([2, 2, 5], 3) == [(0, 2), (2, 3)]


def test_what_is_raised_is_told_with_its_line():
    class Full(oracle.KVCache):
        def append(self, k, v):
            raise ValueError("full")

    assert play(Full, (New(), Append(K, V))).error.kind == "ValueError in line 2"
    with pytest.raises(CheckFailed, match=r"cache\.append") as failed:
        checks.cache_holds(Full)
    assert "ValueError: full" in str(failed.value)


def test_what_is_no_class_is_told():
    with pytest.raises(CheckFailed, match="gives a dict, and no object"):
        checks.cache_holds(lambda: {})


class Forgetful(oracle.KVCache):
    """Keeps the newest chunk only."""

    def append(self, k, v):
        super().__init__()
        super().append(k, v)


def test_a_forgetful_cache_costs_no_point_of_the_step_but_in_the_last_cell():
    with pytest.raises(CheckFailed):
        checks.cache_holds(Forgetful)
    with recording():
        for check in (checks.step_token, checks.step_chunk, checks.step_stored, checks.step_form):
            check(decode_step, Forgetful)
    with pytest.raises(CheckFailed):
        checks.step_chunkings(decode_step, Forgetful)
