"""The one style of the course's pictures, and the parts that several of them share."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

BLUE, ORANGE, GREY, DARK = "#006BA4", "#C85200", "#8A8A8A", "#333333"
LINES = ((BLUE, "-"), (ORANGE, "--"), ("#595959", "-."), ("#898989", ":"))
NUMBERS_UP_TO = 64
STYLE: dict[str, Any] = {
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "savefig.facecolor": "white",
    "figure.dpi": 110,
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "text.color": DARK,
    "axes.labelcolor": DARK,
    "xtick.color": DARK,
    "ytick.color": DARK,
    "legend.frameon": False,
    "image.cmap": "cividis",
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.wspace": 0.06,
}


@contextmanager
def drawing(
    columns: int = 1, size: tuple[float, float] = (6.0, 3.0)
) -> Iterator[tuple[Figure, Any]]:
    """A figure in the course's style with a row of axes; shown when the block ends."""
    with plt.style.context(["tableau-colorblind10", STYLE]):
        figure, axes = plt.subplots(1, columns, figsize=size, squeeze=False)
        yield figure, (axes[0] if columns > 1 else axes[0][0])
        plt.show()
        plt.close(figure)


def heat_map(
    axes: Axes,
    values: np.ndarray,
    title: str = "",
    rows: str = "query position",
    columns: str = "key position",
    hidden: np.ndarray | None = None,
    top: float = 1.0,
) -> None:
    """Draw `values` (rows, columns) with its numbers; cells where `hidden` is True are hatched."""
    image = axes.imshow(values, vmin=0.0, vmax=top, aspect="equal")
    axes.set(title=title, xlabel=columns, ylabel=rows)
    axes.set_xticks(range(values.shape[1]))
    axes.set_yticks(range(values.shape[0]))
    axes.spines[:].set_visible(False)
    for (row, column), value in np.ndenumerate(values):
        if hidden is not None and hidden[row, column]:
            corner = (column - 0.5, row - 0.5)
            axes.add_patch(Rectangle(corner, 1, 1, fc="white", ec=GREY, hatch="///", lw=0))
        elif values.size <= NUMBERS_UP_TO:
            colour = _ink(image.to_rgba(value))
            axes.text(column, row, f"{value:.2f}", ha="center", va="center", color=colour)


def _ink(ground: Sequence[float] | np.ndarray) -> str:
    """Black or white, whichever is easier to read on the colour `ground` (WCAG's luminance)."""
    linear = [((part + 0.055) / 1.055) ** 2.4 for part in ground[:3]]
    return "black" if np.dot([0.2126, 0.7152, 0.0722], linear) > 0.18 else "white"


def bars(axes: Axes, values: Sequence[float], title: str, colour: str = BLUE) -> None:
    """Draw `values` as bars, each with its number above it (below it, if negative)."""
    drawn = axes.bar(range(len(values)), values, color=colour, width=0.65)
    axes.bar_label(drawn, [told(value) for value in values], padding=2)
    axes.set(title=title, xlabel="candidate")
    axes.set_xticks(range(len(values)))
    axes.margins(y=0.18)


def weight_bars(axes: Axes, weights: Sequence[float], title: str, colour: str = BLUE) -> None:
    """Draw `weights` as bars on an axis from 0 to 1."""
    bars(axes, weights, title, colour)
    axes.set_ylim(0, 1.15)
    axes.set_yticks(np.linspace(0, 1, 6))


def told(value: float) -> str:
    """A number for a label."""
    return f"{value:.3g}".replace("-", "−")


def weights_of(scores: np.ndarray) -> np.ndarray:
    """The softmax of one row."""
    exponentials = np.exp(scores - scores.max())
    return np.asarray(exponentials / exponentials.sum())


def box(
    axes: Axes,
    centre: tuple[float, float],
    title: str,
    shape: str,
    colour: str = BLUE,
    hatch: str = "",
) -> None:
    """A box of the flow chart: what it is, and below that its shape."""
    x, y = centre
    width = 1.2 if hatch else 1.6
    corner = (x - width / 2, y - 0.5)
    axes.add_patch(
        Rectangle(corner, width, 1.0, fc="white", ec=colour, lw=1.8, hatch=hatch, zorder=2)
    )
    plate = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
    axes.text(x, y + 0.15, title, ha="center", va="center", zorder=3, bbox=plate)
    axes.text(x, y - 0.33, shape, ha="center", va="center", size=8, zorder=3, bbox=plate)


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    """An arrow of the flow chart."""
    style = {"arrowstyle": "-|>", "color": DARK, "lw": 1.2, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", xy=end, xytext=start, arrowprops=style)


def label_words(axes: Axes, words: Sequence[str]) -> None:
    """Name the rows and columns of a square heat map by these words."""
    axes.set_xticks(range(len(words)), words, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(words)), words)


def mask_table(
    axes: Axes,
    mask: np.ndarray,
    title: str = "",
    rows: str = "query position",
    columns: str = "key position",
) -> None:
    """Draw a boolean mask (rows, columns): a dot where it is True, hatched where it is False."""
    axes.set(xlim=(-0.5, mask.shape[1] - 0.5), ylim=(mask.shape[0] - 0.5, -0.5), aspect="equal")
    axes.set(title=title, xlabel=columns, ylabel=rows)
    axes.set_xticks(range(mask.shape[1]))
    axes.set_yticks(range(mask.shape[0]))
    axes.spines[:].set_visible(False)
    for (row, column), may in np.ndenumerate(mask):
        cell = Rectangle((column - 0.5, row - 0.5), 1, 1, lw=1.0, fc="white", ec=GREY, hatch="///")
        if may:
            cell.set(facecolor=BLUE, edgecolor="white", hatch="")
            axes.plot(column, row, "o", ms=5, color="white")
        axes.add_patch(cell)
