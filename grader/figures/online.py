"""The pictures of lesson 07."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from grader.figures.style import BLUE, DARK, GREY, LINES, ORANGE, arrow, drawing


def running(row: np.ndarray, highest: Sequence[float], total: Sequence[float]) -> None:
    """Scores with their running maximum, and the running sum, step by step."""
    steps = np.arange(1, len(row) + 1)
    few = len(row) <= 12
    with drawing(2, (9.2, 3.0)) as (_, axes):
        left, right = axes
        left.plot(steps, row, "o", ms=6 if few else 1.5, color=GREY, label="score")
        left.step(steps, highest, where="post", color=ORANGE, lw=2.2, label="running maximum")
        left.set(title="running maximum", xlabel="scores seen", ylabel="score")
        left.legend(loc="lower right", frameon=True, framealpha=0.9, markerscale=1 if few else 4)
        right.plot(steps, total, "o-" if few else "-", color=BLUE, ms=5, lw=1.8)
        right.set(title="running sum", xlabel="scores seen")
        right.set(ylabel="running sum", ylim=(0, 1.15 * max(total, default=1.0) or 1.0))
        if few:
            for step, value, before in zip(steps, total, [0.0, *total], strict=False):
                away = (0, 7 if value >= before else -15)
                text = f"{value:.4g}"
                right.annotate(text, (step, value), away, textcoords="offset points", ha="center")
            for each in axes:
                each.set_xticks(steps)
                each.margins(x=0.12)


def peak_memory(lengths: Sequence[int], peaks: Mapping[str, Sequence[float]]) -> None:
    """Peak memory in MiB against sequence length, both logarithmic, a line for each way."""
    with drawing(size=(6.8, 3.6)) as (_, axes):
        for (name, values), (colour, style), mark in zip(
            peaks.items(), LINES, ("o", "s", "^", "D"), strict=False
        ):
            axes.plot(lengths, values, color=colour, ls=style, marker=mark, lw=2, ms=5)
            axes.text(lengths[-1] * 1.08, values[-1], name, va="center", color=colour)
        axes.set(xscale="log", yscale="log", xlabel="sequence length S", ylabel="peak memory (MiB)")
        axes.set_title("What each way holds at once (d = 64)")
        axes.set_xticks(lengths, [str(length) for length in lengths])
        axes.minorticks_off()
        axes.yaxis.set_major_formatter("{x:g}")
        axes.set_xlim(lengths[0] / 1.2, lengths[-1] * 2.6)


def tiles(visits: Sequence[tuple[int, int]], count: int, skipped: bool, frames: int = 6) -> None:
    """A strip of frames of a table of tiles: the one being computed, those done, those skipped."""
    shown = np.linspace(0, len(visits) - 1, frames).round().astype(int)
    with drawing(frames, (1.75 * frames, 2.6)) as (figure, axes):
        for axis, number in zip(axes, shown, strict=True):
            _frame(axis, visits, int(number), count, skipped)
        axes[0].set(xlabel="key tile", ylabel="query tile")
        key = [
            Rectangle((0, 0), 1, 1, fc=ORANGE, ec="white"),
            Rectangle((0, 0), 1, 1, fc="#9CC3DE", ec="white"),
            Rectangle((0, 0), 1, 1, fc="white", ec=GREY),
            Rectangle((0, 0), 1, 1, fc="white", ec=GREY, hatch="////"),
        ]
        names = ["in fast memory (dot)", "done and gone", "to come", "skipped"]
        cut = 4 if skipped else 3
        figure.legend(key[:cut], names[:cut], loc="outside lower center", ncols=cut)


def _frame(
    axes: Axes, visits: Sequence[tuple[int, int]], number: int, count: int, skipped: bool
) -> None:
    """One frame: the state when visit `number` is being computed."""
    axes.set(xlim=(0, count), ylim=(count, 0), aspect="equal", xticks=[], yticks=[])
    axes.set_title(f"tile {number + 1} of {len(visits)}", size=10)
    axes.spines[:].set_visible(False)
    order = {visit: place for place, visit in enumerate(visits)}
    for row, column in np.ndindex(count, count):
        place = order.get((row, column))
        cell = Rectangle((column, row), 1, 1, fc="white", ec=GREY, lw=0.8)
        if place is None and skipped:
            cell.set(hatch="////", edgecolor=GREY)
        elif place is not None and place < number:
            cell.set(facecolor="#9CC3DE", edgecolor="white")
        elif place == number:
            cell.set(facecolor=ORANGE, edgecolor="white")
            axes.plot(column + 0.5, row + 0.5, "o", ms=4, color="white", zorder=3)
        axes.add_patch(cell)


def fast_memory() -> None:
    """What lies in slow and what in fast memory while one tile of scores is computed."""
    with drawing(size=(9.6, 4.3)) as (_, axes):
        axes.set(xlim=(0, 19.2), ylim=(0, 8.4), aspect="equal")
        axes.axis("off")
        for x, width, title in ((0.2, 9.0, "slow memory: everything"),
                                (11.0, 8.0, "fast memory: one tile of each")):  # fmt: skip
            axes.add_patch(Rectangle((x, 0.2), width, 7.5, fc="#F4F4F4", ec=DARK, lw=1.4))
            axes.text(x + width / 2, 7.95, title, ha="center", va="center", size=11)
        for x, name, part, colour in (
            (0.9, "Q", 3, ORANGE),
            (3.0, "K", 1, BLUE),
            (5.1, "V", 1, BLUE),
            (7.2, "output", 3, ORANGE),
        ):
            _strip(axes, x, name, part, colour)
        for x, y, width, name, shape, colour in (
            (11.6, 4.7, 1.8, "Q", "tile × d", ORANGE),
            (14.1, 4.7, 1.8, "K", "tile × d", BLUE),
            (16.6, 4.7, 1.8, "V", "tile × d", BLUE),
            (14.1, 1.0, 1.8, "scores", "tile × tile", DARK),
            (16.6, 1.0, 1.8, "output", "tile × d", ORANGE),
            (11.6, 1.0, 1.8, "m and ℓ", "tile each", ORANGE),
        ):
            axes.add_patch(Rectangle((x, y), width, 1.7, fc="white", ec=colour, lw=2))
            axes.text(x + width / 2, y + 1.05, name, ha="center", va="center", size=10)
            axes.text(x + width / 2, y + 0.5, shape, ha="center", va="center", size=8)
        arrow(axes, (9.3, 5.5), (10.9, 5.5))
        axes.text(10.1, 5.9, "load", ha="center", size=9)
        arrow(axes, (10.9, 1.8), (9.3, 1.8))
        axes.text(10.1, 2.2, "store\nonce", ha="center", size=9)
        axes.text(15.0, 3.7, "thrown away after each tile: scores", ha="center", size=9)
        axes.text(15.0, 3.15, "kept for a row of tiles: m, ℓ, output", ha="center", size=9)


def _strip(axes: Axes, x: float, name: str, part: int, colour: str) -> None:
    """An array of S rows cut into six tiles, of which number `part` is in use."""
    for tile in range(6):
        used = tile == part
        corner = (x, 6.0 - tile)
        axes.add_patch(Rectangle(corner, 1.3, 1.0, fc=colour if used else "white", ec=GREY, lw=0.9))
        if used:
            axes.plot(x + 0.65, 6.5 - tile, "o", ms=5, color="white")
    axes.text(x + 0.65, 0.55, name, ha="center", va="center", size=10)
