"""Lesson 06: what its text states is so."""

import tracemalloc
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader import course, oracle
from grader.checks import cost as checks
from grader.checks.ask import CheckFailed
from grader.lesson import grade_id
from tests.student import namespace, solved

LESSON = course.lesson("06-cost")
NAMES = namespace(LESSON)
GIB = 2**30


def demonstrated(cell: str) -> dict[str, Any]:
    """The names of the lesson after one of its demonstrations, which draws nothing, has run."""
    (source,) = [c.source for c in solved(LESSON).cells if grade_id(c) == cell]
    names = NAMES | {"random_tables": tables}
    exec(compile(source, f"<{cell}>", "exec"), names)
    return names


def peak(call: Any) -> int:
    tracemalloc.start()
    call()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def tables(length: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((3, length, 64))


# --- what is counted ----------------------------------------------------------------------------


def counted(rows: int, inner: int, columns: int) -> int:
    """Operations of one matrix product, each of them made."""
    operations = 0
    for _ in range(rows * columns):
        total = 0.0
        for _ in range(inner):
            total = total + 1.0 * 1.0
            operations += 2
    return operations


@given(st.integers(1, 5), st.integers(1, 4), st.integers(1, 4), st.sampled_from([1, 2, 4, 8]))
def test_the_counts_are_what_a_loop_counts(length: int, heads: int, width: int, size: int) -> None:
    d_model = heads * width
    expected = {
        "qk_flops": heads * counted(length, width, length),
        "pv_flops": heads * counted(length, length, width),
        "projection_flops": 4 * counted(length, d_model, d_model),
        "scores_bytes": np.zeros((heads, length, length), dtype=f"V{size}").nbytes,
    }
    expected["total_flops"] = sum(v for k, v in expected.items() if k.endswith("flops"))
    for counts in (oracle.attention_counts, NAMES["attention_counts"]):
        assert counts(length, d_model, heads, size) == expected


@pytest.mark.parametrize("d_model", [512, 1024, 2048, 4096, 8192])
def test_the_pairs_are_a_third_a_half_and_a_half_with_the_mlp(d_model: int) -> None:
    def share(times: int, mlp: int) -> Fraction:
        counts = oracle.attention_counts(times * d_model, d_model, 8)
        pairs = counts["qk_flops"] + counts["pv_flops"]
        return Fraction(pairs, counts["total_flops"] + mlp * times * d_model * d_model**2)

    mlp = 2 * 2 * 4  # two matrices (d, 4d), a multiplication and an addition each
    assert [share(1, 0), share(2, 0), share(6, mlp)] == [Fraction(1, 3), *[Fraction(1, 2)] * 2]
    assert NAMES["crossover_length"](d_model) == 2 * d_model


def test_the_sizes_to_know() -> None:
    def gib(length: int) -> float:
        return oracle.attention_counts(length, 4096, 32, 2)["scores_bytes"] / GIB

    assert [gib(32_768), gib(8192)] == [64, 4]


MODELS = {  # layers, heads, key/value heads, d_head, context: cache and scores of a layer in GiB
    (96, 96, 96, 128, 2048): (9.00, 0.75),
    (118, 48, 1, 256, 2048): (0.23, 0.38),
    (80, 64, 64, 128, 2048): (5.00, 0.50),
    (32, 32, 8, 128, 8192): (1.00, 4.00),
    (32, 32, 8, 128, 131_072): (16.00, 1024.00),
    (80, 64, 8, 128, 131_072): (40.00, 2048.00),
    (126, 128, 8, 128, 131_072): (63.00, 4096.00),
}


@pytest.mark.parametrize("model", MODELS)
def test_the_memory_of_the_models(model: tuple[int, ...]) -> None:
    layers, heads, kv_heads, d_head, context = model
    cache = oracle.kv_cache_bytes(context, layers, kv_heads, d_head)
    scores = oracle.attention_counts(context, heads * d_head, heads, 2)["scores_bytes"]
    assert (round(cache / GIB, 2), round(scores / GIB, 2)) == pytest.approx(
        MODELS[model], abs=0.006
    )


# --- what is measured ---------------------------------------------------------------------------


def test_memory_grows_with_the_square_and_five_tables_are_held() -> None:
    attention, lengths = NAMES["scaled_dot_product_attention"], [256, 512, 1024, 2048]
    given = [tables(length) for length in lengths]
    peaks = [peak(lambda each=each: attention(*each)) for each in given]
    assert 1.95 <= np.polyfit(np.log(lengths), np.log(peaks), 1)[0] <= 2.01
    assert peaks[-1] / (8 * lengths[-1] ** 2) == pytest.approx(5, abs=0.1)


def test_the_mask_alone_saves_no_memory_and_skipped_blocks_do() -> None:
    in_blocks = demonstrated("in-blocks")["attention_in_blocks"]
    attention = NAMES["scaled_dot_product_attention"]
    mask = NAMES["sliding_window_mask"](2048, 128)
    Q, K, V = tables(2048)
    plain, masked = peak(lambda: attention(Q, K, V)), peak(lambda: attention(Q, K, V, mask))
    assert masked > 0.99 * plain
    assert peak(lambda: in_blocks(Q, K, V, mask, 128)) < plain / 50


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("length", "window"), [(300, 1), (300, 40), (257, 300)])
def test_skipping_blocks_changes_nothing(seed: int, length: int, window: int) -> None:
    in_blocks = demonstrated("in-blocks")["attention_in_blocks"]
    mask = oracle.sliding_window_mask(length, window)
    Q, K, V = tables(length, seed)
    whole = NAMES["scaled_dot_product_attention"](Q, K, V, mask)[0]
    assert np.abs(in_blocks(Q, K, V, mask, window) - whole).max() < 1e-12


def test_each_layer_reaches_further() -> None:
    band = oracle.sliding_window_mask(12, 3).astype(int)
    reached = [np.linalg.matrix_power(band, layers) > 0 for layers in (1, 2, 3)]
    assert [int(mask[-1].sum()) for mask in reached] == [3, 5, 7]


# --- linear attention ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def linear() -> dict[str, Any]:
    return demonstrated("linear-attention")


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_order_of_the_products_makes_no_difference(linear: dict[str, Any], seed: int) -> None:
    Q, K, V = tables(200, seed)
    by_pairs, _ = linear["linear_by_pairs"](Q, K, V)
    assert np.abs(linear["linear_attention"](Q, K, V) - by_pairs).max() < 1e-12


@pytest.mark.parametrize("seed", [0, 1, 6])
def test_linear_attention_cannot_single_out_a_key(linear: dict[str, Any], seed: int) -> None:
    keys = np.random.default_rng(seed).standard_normal((8, 64))
    for length in (8, 80, 8000):
        query = length * keys[2:3]
        sharp = NAMES["scaled_dot_product_attention"](query, keys, keys)[1]
        smooth = linear["linear_by_pairs"](query, keys, keys)[1]
        assert sharp[0, 2] > 0.99
        assert 0.15 < smooth[0, 2] < 0.35


# --- the checks ---------------------------------------------------------------------------------

CHECKS = {name: check for name, check in vars(checks).items() if hasattr(check, "__wrapped__")}


ODD = [
    None, "528", [528], (528, 528), {}, True, -1, 0, float("nan"), float("inf"), 1e300, 10**400,
    1j, np.array([1.0, 2.0]), np.float32("nan"), np.ones((2, 2), dtype=complex), object(),
]  # fmt: skip
KEYS = ("qk_flops", "pv_flops", "projection_flops", "total_flops", "scores_bytes")


@pytest.mark.parametrize("value", ODD, ids=map(str, range(len(ODD))))
@pytest.mark.parametrize("name", CHECKS)
def test_whatever_comes_back_is_answered_by_a_reason(name: str, value: Any) -> None:
    for answer in (value, dict.fromkeys(KEYS, value)):
        with pytest.raises(CheckFailed) as failed:
            CHECKS[name](lambda *args, given=answer, **kwargs: given)
        assert str(failed.value).startswith("✗ ")
