"""The pictures of lesson 05."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from grader.figures.style import (
    BLUE,
    DARK,
    GREY,
    LINES,
    ORANGE,
    arrow,
    box,
    drawing,
    heat_map,
    label_words,
)

TOKENS = (("#CFE3F1", ""), ("#F5C9A6", "//"), ("#E6E6E6", ".."), ("#FFFFFF", "xx"))


def many_heads() -> None:
    """The flow of data through a layer of two heads, with shapes."""
    with drawing(size=(9.8, 3.3)) as (_, axes):
        axes.set(xlim=(-0.1, 12.75), ylim=(0.1, 4.1))
        axes.axis("off")
        box(axes, (0.8, 2.1), "$x$", "(S, d_model)")
        box(axes, (3.0, 2.1), "$Q = x\\,W_q$\n$K$, $V$ alike", "(S, d_model) each")
        arrow(axes, (1.6, 2.1), (2.2, 2.1))
        for y, head in ((3.3, 0), (0.9, 1)):
            box(axes, (5.6, y), f"head {head}\nits columns", "(S, d) each", ORANGE)
            box(axes, (7.8, y), "attention", "output (S, d)", ORANGE)
            arrow(axes, (3.8, 2.1), (4.8, y))
            arrow(axes, (6.4, y), (7.0, y))
            arrow(axes, (8.6, y), (9.1, 2.1 + (0.25 if head == 0 else -0.25)))
        axes.text(4.25, 3.15, "split", ha="right", size=9)
        axes.text(8.95, 3.15, "merge", ha="left", size=9)
        box(axes, (9.9, 2.1), "side by side", "(S, d_model)")
        box(axes, (11.8, 2.1), r"$\cdot\ W_o$", "(S, d_model)")
        arrow(axes, (10.7, 2.1), (11.0, 2.1))


def numbered(tables: Mapping[str, np.ndarray], labels: str = "token") -> None:
    """Tables of numbers side by side; the tens of a number say which token it comes from."""
    widths = [table.shape[1] for table in tables.values()]
    height = max(table.shape[0] for table in tables.values())
    size = (0.9 + sum(0.5 * width + 0.55 for width in widths), 0.75 + 0.42 * height)
    with drawing(len(tables), size) as (_, axes):
        if len(tables) > 1:
            axes[0].get_gridspec().set_width_ratios(widths)
        for each, (title, table) in zip(np.ravel(axes), tables.items(), strict=True):
            _numbered(each, table, title)
            each.set_ylabel(labels if each is np.ravel(axes)[0] else "")


def _numbered(axes: Axes, table: np.ndarray, title: str) -> None:
    """One table; cells of one token have one ground and one hatch."""
    rows, columns = table.shape
    axes.set(xlim=(-0.53, columns - 0.47), ylim=(rows - 0.47, -0.53), aspect="equal", title=title)
    axes.set_xticks([])
    axes.set_yticks(range(rows))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    for (row, column), number in np.ndenumerate(table):
        ground, hatch = TOKENS[int(number) // 10 % len(TOKENS)]
        corner = (column - 0.5, row - 0.5)
        axes.add_patch(Rectangle(corner, 1, 1, fc=ground, ec="#FFFFFF80", hatch=hatch, lw=0))
        axes.add_patch(Rectangle(corner, 1, 1, fc="none", ec=GREY, lw=0.8))
        axes.text(column, row, f"{number:g}", ha="center", va="center", color="black")


def head_maps(words: Sequence[str], maps: Mapping[str, np.ndarray], hidden: np.ndarray) -> None:
    """Weights between words, a heat map for each head; hidden cells are hatched."""
    with drawing(len(maps), (0.4 + 3.35 * len(maps), 3.7)) as (_, axes):
        for each, (title, weights) in zip(np.ravel(axes), maps.items(), strict=True):
            first = each is np.ravel(axes)[0]
            heat_map(each, weights, title, "query" if first else "", "key", hidden)
            label_words(each, words)


def head_groups(readers: Mapping[str, Sequence[int]]) -> None:
    """Which key/value head (below) each query head (above) reads, a panel for each way."""
    with drawing(len(readers), (min(3.2 * len(readers), 10.4), 2.1)) as (_, axes):
        for each, (title, shared) in zip(np.ravel(axes), readers.items(), strict=True):
            each.set(xlim=(-0.6, len(shared) - 0.4), ylim=(-0.5, 1.5), title=title)
            each.axis("off")
            kv_heads = max(shared) + 1
            places = (np.arange(kv_heads) + 0.5) * len(shared) / kv_heads - 0.5
            for head, kv in enumerate(shared):
                colour, line = LINES[kv % 2]
                each.plot([head, places[kv]], [0.82, 0.18], line, color=colour, lw=1.6)
                _head(each, (head, 1.0), f"{head}", DARK)
            for kv, place in enumerate(places):
                _head(each, (place, 0.0), f"{kv}", LINES[kv % 2][0])
        first = np.ravel(axes)[0]
        first.text(-0.6, 1.36, "query heads", size=8, color=DARK)
        first.text(-0.6, -0.42, "key/value heads", size=8, color=DARK)


def _head(axes: Axes, centre: tuple[float, float], name: str, colour: str) -> None:
    x, y = centre
    axes.add_patch(Rectangle((x - 0.28, y - 0.18), 0.56, 0.36, fc="white", ec=colour, lw=1.6))
    axes.text(x, y, name, ha="center", va="center", size=9)


def cache_sizes(sizes: Mapping[int, float], guess: float | None) -> None:
    """Gibibytes of a cache against the number of key/value heads; the guess is for the second."""
    with drawing(size=(6.2, 2.9)) as (_, axes):
        drawn = axes.bar(range(len(sizes)), sizes.values(), color=BLUE, width=0.6)
        axes.bar_label(drawn, [f"{size:.3g} GiB" for size in sizes.values()], padding=2)
        axes.set(xlabel="key/value heads", ylabel="cache in GiB", title="32 query heads")
        axes.set_xticks(range(len(sizes)), [str(heads) for heads in sizes])
        if guess is not None:
            axes.plot(
                [list(sizes).index(8) + 0.4], [guess], "D", color=ORANGE, ms=8, label="your guess"
            )
            axes.legend()
        axes.margins(y=0.18)
