"""Lesson 05: its solutions agree with the oracle, and its experiments are no accident."""

import numpy as np
import pytest

from grader import course, oracle
from tests.student import namespace

SEEDS = (1, 2, 3, 4)
LESSON = course.lesson("05-multi-head")


@pytest.fixture(scope="module")
def solved():
    return namespace(LESSON)


def drawn(seed, items=1, length=4, width=12, narrow=12):
    """x, Wq, Wk, Wv and Wo as the lesson draws them."""
    rng = np.random.default_rng(seed)
    shapes = ((width, width), (width, narrow), (width, narrow), (width, width))
    matrices = [rng.normal(size=shape) / np.sqrt(width) for shape in shapes]
    return rng.normal(size=(items, length, width)), matrices


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kv_heads", [1, 2, 3, 6])
def test_the_solutions_agree_with_the_oracle(solved, seed, kv_heads):
    x, matrices = drawn(seed, items=2, length=3, narrow=2 * kv_heads)
    rng = np.random.default_rng(seed)
    for shape in ((3, 3), (2, 1, 3), (2, 3, 3), (2, 6, 3, 3)):
        mask = rng.random(shape) < 0.6
        ours = solved["grouped_query_attention"](x, *matrices, 6, kv_heads, mask)
        expected = oracle.grouped_query_attention(x, *matrices, 6, kv_heads, mask)
        np.testing.assert_allclose(ours, expected, atol=1e-12)
        if kv_heads == 6:
            alike = solved["multi_head_attention"](x, *matrices, 6, mask)
            np.testing.assert_allclose(alike, expected, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_output_is_the_sum_of_what_the_heads_contribute(solved, seed):
    x, (Wq, Wk, Wv, Wo) = drawn(seed)
    own = [slice(4 * h, 4 * h + 4) for h in range(3)]
    heads = [oracle.attention(x @ Wq[:, c], x @ Wk[:, c], x @ Wv[:, c])[0] for c in own]
    added = sum(head @ Wo[c] for head, c in zip(heads, own, strict=True))
    np.testing.assert_allclose(solved["multi_head_attention"](x, Wq, Wk, Wv, Wo, 3), added)


def reshape_split(x, n_heads):
    return x.reshape(x.shape[0], n_heads, x.shape[1], -1)


def reshape_merge(x):
    return x.reshape(x.shape[0], x.shape[2], -1)


def moved_by(token, seed, split, merge):
    """The outputs that move with one input, under a causal mask and two heads."""
    x, (Wq, Wk, Wv, Wo) = drawn(seed)
    edited = x.copy()
    edited[0, token] += 1.0
    causal = oracle.causal_mask(4)
    before, after = (
        merge(oracle.attention(*(split(each @ W, 2) for W in (Wq, Wk, Wv)), causal)[0]) @ Wo
        for each in (x, edited)
    )
    return np.flatnonzero(np.abs(after - before)[0].max(axis=-1) > 1e-9).tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_which_outputs_move_when_heads_are_split_or_merged_by_reshape(seed):
    ways = {
        (oracle.split_heads, oracle.merge_heads): ([0, 1, 2, 3], [3]),
        (reshape_split, reshape_merge): ([0, 1], [3]),
        (oracle.split_heads, reshape_merge): ([0, 1, 2, 3], [1, 3]),
    }
    for (split, merge), (by_first, by_last) in ways.items():
        assert moved_by(0, seed, split, merge) == by_first
        assert moved_by(3, seed, split, merge) == by_last


@pytest.mark.parametrize("seed", SEEDS)
def test_without_an_output_projection_a_head_moves_its_own_columns_only(solved, seed):
    x, (Wq, Wk, Wv, Wo) = drawn(seed)
    changed = Wv.copy()
    changed[:, :4] += 1.0
    for mixer, columns in ((np.eye(12), 4), (Wo, 12)):
        outputs = [solved["multi_head_attention"](x, Wq, Wk, W, mixer, 3) for W in (Wv, changed)]
        moved = np.abs(outputs[1] - outputs[0]).max(axis=(0, 1)) > 1e-9
        assert np.flatnonzero(moved).tolist() == list(range(columns))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_mask_for_each_item_is_read_as_one_for_each_head_only_where_the_numbers_agree(seed):
    for lengths in ([4, 2], [4, 2, 3]):
        x, (Wq, Wk, Wv, Wo) = drawn(seed, items=len(lengths))
        mask = oracle.padding_mask(lengths, 4)
        Q, K, V = (oracle.split_heads(x @ W, 2) for W in (Wq, Wk, Wv))
        if len(lengths) == 2:
            wrong = oracle.merge_heads(oracle.attention(Q, K, V, mask)[0]) @ Wo
            right = oracle.multi_head_attention(x, Wq, Wk, Wv, Wo, 2, mask)
            assert (np.abs(wrong - right).max(axis=(1, 2)) > 0.1).all()
        else:
            with pytest.raises(ValueError, match="broadcast"):
                oracle.attention(Q, K, V, mask)


@pytest.mark.parametrize("seed", SEEDS)
def test_tiled_heads_are_repeated_heads_in_another_order(seed):
    x, (Wq, Wk, Wv, Wo) = drawn(seed, length=5, narrow=4)
    right = oracle.grouped_query_attention(x, Wq, Wk, Wv, Wo, 6, 2)

    def tiled(Wq, Wo):
        K, V = (np.tile(oracle.split_heads(x @ W, 2), (1, 3, 1, 1)) for W in (Wk, Wv))
        return oracle.merge_heads(oracle.attention(oracle.split_heads(x @ Wq, 6), K, V)[0]) @ Wo

    order = np.array([0, 3, 1, 4, 2, 5])
    columns = (2 * order[:, None] + np.arange(2)).ravel()
    assert np.abs(tiled(Wq, Wo) - right).max() > 0.1
    np.testing.assert_allclose(tiled(Wq[:, columns], Wo[columns]), right, atol=1e-12)


def test_two_heads_keep_apart_what_one_wide_head_blends(solved):
    S = d = 6
    x = np.concatenate([np.eye(S), np.eye(S)], axis=1)[None]
    Wq, Wk, Wv = np.zeros((3, 12, 12))
    Wq[:S, :d], Wq[:S, d:] = np.eye(S)[[0, 0, 1, 2, 3, 4]], np.eye(S)[[0] * S]
    Wk[:S, :d] = Wk[:S, d:] = np.eye(S)
    Wv[S:, :d] = Wv[S:, d:] = np.eye(S)
    Wq *= np.sqrt(d) * np.log(100)
    for n_heads, previous in ((2, 0.97), (1, 0.48)):
        output = solved["multi_head_attention"](
            x, Wq, Wk, Wv, np.eye(12), n_heads, oracle.causal_mask(S)
        )
        assert round(output[0, 3, 2], 2) == previous
        assert round(output[0, 3, d], 2) == previous


def test_the_cache_shrinks_with_the_key_value_heads():
    sizes = [2 * 32 * 8192 * heads * 128 * 2 / 2**30 for heads in (32, 8, 4, 1)]
    assert sizes == [4, 1, 0.5, 0.125]
