"""The pictures of lesson 08."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, NullLocator, ScalarFormatter

from grader.figures.style import DARK, GREY, LINES, ORANGE, drawing, told


def scores_by_step(steps: int = 5) -> None:
    """The scores computed for each new token, without a cache and with one."""
    with drawing(size=(9.0, 3.6)) as (_, axes):
        left = 0.0
        for length in range(1, steps + 1):
            axes.text(left + length / 2, -0.5, f"token {length - 1}", ha="center")
            for row in range(length):
                needed = row == length - 1
                _scores(axes, left, steps - length + row, length, needed)
            _scores(axes, left, steps + 1.6, length, True)
            left += length + 1.0
        end = left - 0.5
        for y, name in ((steps / 2, "without a cache"), (steps + 2.1, "with a cache")):
            axes.text(-0.6, y, name, ha="right", va="center", weight="bold")
        for y, power in ((steps - 0.5, 2), (steps + 2.1, 1)):
            total = sum(length**power for length in range(1, steps + 1))
            axes.text(end, y, f"{total} scores", va="center")
        axes.set(xlim=(-4.6, end + 3.0), ylim=(steps + 3.0, -1.2), aspect="equal")
        axes.axis("off")


def _scores(axes: Axes, left: float, top: float, count: int, needed: bool) -> None:
    """One row of scores: filled with dots if they are new, hatched if nobody needs them."""
    for column in range(count):
        cell = Rectangle((left + column, top), 1, 1, fc="white", ec=GREY, hatch="///", lw=1.0)
        if needed:
            cell.set(facecolor=ORANGE, edgecolor="white", hatch="")
            axes.plot(left + column + 0.5, top + 0.5, "o", ms=4, color="white")
        axes.add_patch(cell)


def time_per_token(
    lengths: Sequence[int], without: Sequence[float], cached: Sequence[float]
) -> None:
    """Milliseconds for one more token at each context length, without a cache and with one."""
    with drawing(size=(6.4, 3.6)) as (_, axes):
        series = (("without a cache", without, "o"), ("with a cache", cached, "s"))
        for (name, seconds, marker), (colour, line) in zip(series, LINES, strict=False):
            times = 1000 * np.asarray(seconds)
            axes.plot(lengths, times, line, color=colour, marker=marker, lw=2, label=name)
            axes.annotate(
                f"{told(times[-1])} ms", (lengths[-1], times[-1]), (8, 0),
                textcoords="offset points", va="center", color=colour,
            )  # fmt: skip
        axes.set(xscale="log", yscale="log", title="time for one more token")
        axes.set(xlabel="tokens so far", ylabel="milliseconds")
        axes.set_xticks(lengths, [str(length) for length in lengths])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: told(value)))
        axes.margins(x=0.14, y=0.15)
        axes.legend(loc="upper left")


def work_per_byte(names: Sequence[str], intensities: Sequence[float], balance: float) -> None:
    """Operations for each byte that is read, beside what a machine could do meanwhile."""
    with drawing(size=(7.4, 0.9 + 0.42 * len(names))) as (_, axes):
        places = np.arange(len(names))
        drawn = axes.barh(places, intensities, color=LINES[0][0], height=0.6)
        axes.bar_label(drawn, [f"{value:,.0f}" for value in intensities], padding=4)
        axes.axvline(balance, color=ORANGE, ls="--", lw=2)
        axes.text(balance, -0.75, f" {balance:.0f}: in balance", color=ORANGE, va="center")
        axes.set(xscale="log", xlabel="operations for each byte read", xlim=(0.5, 2e4))
        axes.set_yticks(places, names)
        axes.tick_params(axis="y", length=0, labelcolor=DARK)
        axes.set_ylim(len(names) - 0.5, -1.1)
        axes.xaxis.set_major_formatter(ScalarFormatter())
