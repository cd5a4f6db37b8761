"""The pictures of lesson 06."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from grader.figures.style import BLUE, DARK, GREY, ORANGE, drawing, mask_table


def tables_to_scale(ratios: Sequence[float]) -> None:
    """A matrix (d, d), a table (S, d) and the scores (S, S) side by side, for several S / d."""
    with drawing(len(ratios), (9.6, 3.3)) as (_, axes):
        axes[0].get_gridspec().set_width_ratios([_across(ratio) for ratio in ratios])
        for each, ratio in zip(axes, ratios, strict=True):
            _tables(each, ratio, tallest=max(1.0, *ratios))


GAP = 0.6


def _across(ratio: float) -> float:
    """How wide the three tables are side by side, with room for the last one's name."""
    return 2 + 2 * GAP + max(ratio, 1.0) + 0.1


def _tables(axes: Axes, ratio: float, tallest: float) -> None:
    """The three tables for one S / d, hanging from one line; the unit is d."""
    parts: tuple[tuple[str, float, float, dict[str, Any]], ...] = (
        ("matrix", 1.0, 1.0, {"fc": "#D9D9D9", "ec": GREY}),
        ("Q", 1.0, ratio, {"fc": BLUE, "ec": BLUE}),
        ("scores", ratio, ratio, {"fc": "white", "ec": ORANGE, "hatch": "///"}),
    )
    left = 0.0
    for name, width, height, look in parts:
        axes.add_patch(Rectangle((left, -height), width, height, lw=1.5, **look))
        axes.text(left, 0.12, name, ha="left", va="bottom", size=9)
        left += width + GAP
    axes.set(xlim=(-0.1, _across(ratio)), ylim=(-tallest - 0.1, 0.75), aspect="equal")
    axes.set_title(f"S = {ratio:g} · d")
    axes.axis("off")
    axes.set_anchor("NW")


def shares_of_work(
    lengths: np.ndarray, shares: Mapping[int, Sequence[float]], crossovers: Mapping[int, float]
) -> None:
    """The share of Q Kᵀ and P V in a layer's work against S, a line for each width."""
    with drawing(size=(7.6, 3.9)) as (_, axes):
        colours = mpl.colormaps["cividis"](np.linspace(0.0, 0.75, len(shares)))
        for colour, (width, share) in zip(colours, shares.items(), strict=True):
            axes.plot(lengths, share, color=colour, lw=1.8)
            here = crossovers[width]
            axes.plot([here], [0.5], "D", ms=7, color=colour, zorder=3)
            axes.annotate(
                f"{width:,}", (here, 0.5), (-7, 7), textcoords="offset points", ha="right", size=9
            )
        axes.axhline(0.5, color=GREY, lw=1, ls="--")
        axes.axhline(1 / 3, color=GREY, lw=1, ls=":")
        axes.text(lengths[0], 0.515, "one half", size=9)
        axes.text(lengths[0], 1 / 3 + 0.015, "one third", size=9)
        axes.set(xlabel="tokens S", ylabel="share of the attention layer", ylim=(0, 1))
        axes.set_title("Q Kᵀ and P V in the work of a layer, for d_model from 512 to 8,192")
        _length_ticks(axes, lengths)


def _length_ticks(axes: Axes, lengths: np.ndarray) -> None:
    """A logarithmic axis of lengths, a tick for each."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(lengths, [_short(int(length)) for length in lengths])
    axes.minorticks_off()


def _short(length: int) -> str:
    return f"{length // 1024}K" if length >= 1024 else str(length)


def blocks(tables: Mapping[str, np.ndarray]) -> None:
    """Tables of blocks of scores: a dot where a block is computed, hatched where it is skipped."""
    sides = [table.shape[0] for table in tables.values()]
    size = (1.6 + sum(0.42 * side + 0.8 for side in sides), 1.2 + 0.42 * max(sides))
    with drawing(len(tables), size) as (_, axes):
        for each, (title, table) in zip(np.ravel(axes), tables.items(), strict=True):
            mask_table(each, table, title, "block of queries", "block of keys")


def growth(
    lengths: np.ndarray,
    peaks: np.ndarray,
    scores: np.ndarray,
    seconds: np.ndarray,
    work: np.ndarray,
) -> None:
    """Measured memory and time against S beside what is counted, both axes logarithmic.

    The counts `scores` (bytes) and `work` (FLOPs) are scaled to meet the longest measurement.
    """
    with drawing(2, (9.2, 3.5)) as (_, axes):
        pairs = (
            (peaks / 2**20, scores, "memory at the peak, MiB"),
            (seconds * 1e3, work, "time, ms"),
        )
        for each, (measured, counted, label) in zip(axes, pairs, strict=True):
            predicted = counted / counted[-1] * measured[-1]
            each.plot(lengths, predicted, "--", color=ORANGE, lw=1.8, label="predicted: slope 2")
            each.plot(lengths, measured, "o-", color=BLUE, lw=1.2, ms=6, label="measured")
            each.set(xlabel="tokens S", ylabel=label, yscale="log")
            each.legend(loc="upper left")
            _length_ticks(each, lengths)


def ways(seconds: Mapping[str, float], mebibytes: Mapping[str, float]) -> None:
    """Several ways to the same result: the time that each takes, and its memory at the peak."""
    with drawing(2, (9.2, 0.95 + 0.42 * len(seconds))) as (_, axes):
        _bars_across(axes[0], [1e3 * each for each in seconds.values()], list(seconds), "time, ms")
        _bars_across(axes[1], list(mebibytes.values()), [], "memory at the peak, MiB")


def _bars_across(axes: Axes, values: Sequence[float], names: Sequence[str], title: str) -> None:
    drawn = axes.barh(range(len(values)), values, color=BLUE, height=0.6)
    told = [f"{value:.0f}" if value >= 100 else f"{value:.2g}" for value in values]
    axes.bar_label(drawn, told, padding=3, color=DARK)
    axes.set_yticks(range(len(values)), names or [""] * len(values))
    axes.invert_yaxis()
    axes.set_title(title)
    axes.margins(x=0.15)


def one_match(weights: Mapping[str, np.ndarray], match: int) -> None:
    """The weights that one query gives, several times; the bar of its match is orange, hatched."""
    with drawing(len(weights), (3.9 * len(weights), 2.8)) as (_, axes):
        for each, (title, row) in zip(np.ravel(axes), weights.items(), strict=True):
            drawn = each.bar(range(len(row)), row, color=BLUE, width=0.65)
            drawn.patches[match].set(facecolor="white", edgecolor=ORANGE, hatch="///")
            each.bar_label(drawn, [f"{weight:.2f}" for weight in row], padding=2, size=9)
            each.set(title=title, xlabel="key position", ylim=(0, 1.15))
            each.set_xticks(range(len(row)))
        np.ravel(axes)[0].set_ylabel("weight")
