"""The pictures of lesson 09."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from grader.figures.style import BLUE, DARK, GREY, LINES, ORANGE, arrow, box, drawing


def language_model() -> None:
    """The tiny model as a flow chart: tokens in, a guess for every next token out."""
    parts = [
        ("tokens", "(B, S)"),
        ("embedding\n+ position", "(B, S, d_model)"),
        ("attention\nadds to x", "2 heads, masked"),
        ("MLP\nadds to x", "each position"),
        ("logits", "(B, S, V)"),
        ("loss", "one number"),
    ]
    with drawing(size=(10.0, 2.5)) as (_, axes):
        axes.set(xlim=(-1.1, 11.9), ylim=(-1.0, 1.35))
        axes.axis("off")
        for number, (title, shape) in enumerate(parts):
            x = 2.15 * number
            colour = ORANGE if number in (0, 5) else BLUE
            _part(axes, (x, 0.0), title, shape, colour)
            if number:
                arrow(axes, (x - 1.25, 0.0), (x - 0.9, 0.0))
        axes.add_patch(Rectangle((3.2, -0.75), 4.35, 1.5, fill=False, ec=GREY, ls="--"))
        axes.text(5.37, 0.9, "layer, twice", ha="center", va="bottom", color=DARK)


def _part(axes: Axes, centre: tuple[float, float], title: str, shape: str, colour: str) -> None:
    """A box of two lines of title, and its shape."""
    x, y = centre
    axes.add_patch(Rectangle((x - 0.9, y - 0.5), 1.8, 1.0, fc="white", ec=colour, lw=1.8))
    axes.text(x, y + 0.14, title, ha="center", va="center")
    axes.text(x, y - 0.34, shape, ha="center", va="center", size=8)


def loss_curves(runs: Mapping[str, Sequence[float]], levels: Mapping[str, float]) -> None:
    """Training losses of several runs, smoothed, beside losses that mean something."""
    with drawing(size=(7.6, 3.6)) as (_, axes):
        for (name, losses), (colour, line) in zip(runs.items(), LINES, strict=False):
            smooth = np.convolve(losses, np.full(20, 1 / 20), mode="valid")
            axes.plot(np.arange(len(smooth)) + 20, smooth, color=colour, ls=line, label=name)
            axes.text(len(losses) * 1.01, smooth[-1], name, color=colour, va="center")
        for name, level in levels.items():
            axes.plot([0, len(losses)], [level, level], color=GREY, lw=0.8)
            axes.text(len(losses), level - 0.03, f"{name}: {level:.3f}", ha="right", va="top")
        axes.set(xlabel="step", ylabel="training loss (nats a token)", ylim=(0, 2.0))
        axes.set_title("three training runs")


def looks(
    panels: Mapping[str, tuple[np.ndarray, np.ndarray]],
    marks: Sequence[Sequence[tuple[int, int]]],
    names: str,
) -> None:
    """Weights and mask (S, S) of a few heads over one text; marked cells framed, hidden hatched."""
    with drawing(len(panels), (5.0 * len(panels), 4.9)) as (figure, axes):
        for each, title, framed in zip(np.ravel(axes), panels, marks, strict=True):
            weights, mask = panels[title]
            image = each.imshow(weights, vmin=0, vmax=1)
            each.set(title=title, xlabel="key: looked at", ylabel="query: predicts the next token")
            each.set_xticks(range(len(names)), list(names))
            each.set_yticks(range(len(names)), list(names))
            each.spines[:].set_visible(False)
            for row, column in np.argwhere(~mask):
                corner = (column - 0.5, row - 0.5)
                each.add_patch(Rectangle(corner, 1, 1, fc="white", ec=GREY, hatch="///", lw=0))
            for row, column in framed:
                corner = (column - 0.5, row - 0.5)
                each.add_patch(Rectangle(corner, 1, 1, fill=False, ec=ORANGE, lw=2.2))
        figure.colorbar(image, ax=np.ravel(axes).tolist(), label="weight", shrink=0.8)


def whole_course() -> None:
    """What was built, lesson by lesson, and how the pieces stand on each other."""
    pieces = {
        (0, 2): ("1  softmax", "scores → weights"),
        (1, 2): ("2  attention", "softmax(QKᵀ/√d_k) V"),
        (2, 2): ("3  masks", "who may see whom"),
        (0, 1): ("7  online softmax", "never the whole table"),
        (1, 1): ("5  multi-head", "H lookups at once"),
        (2, 1): ("4  scaling", "√d_k, and the gradient"),
        (0, 0): ("6  cost", "what grows with S²"),
        (1, 0): ("8  KV cache", "the past, kept"),
        (2, 0): ("9  language model", "trains and writes"),
    }
    with drawing(size=(8.6, 4.2)) as (_, axes):
        axes.set(xlim=(-1.3, 7.5), ylim=(-0.9, 4.1))
        axes.axis("off")
        for (column, row), (title, told) in pieces.items():
            colour = ORANGE if (column, row) == (2, 0) else BLUE
            box(axes, (3.1 * column, 1.6 * row), title, told, colour)
        for start, end in _ARROWS:
            _between(axes, start, end)


# (column, row) of the piece that is used → of the piece that uses it
_ARROWS = (
    ((0, 2), (1, 2)), ((1, 2), (2, 2)), ((0, 2), (0, 1)), ((2, 2), (1, 1)), ((2, 2), (2, 1)),
    ((1, 1), (0, 0)), ((1, 1), (1, 0)), ((1, 1), (2, 0)), ((2, 1), (2, 0)), ((1, 0), (2, 0)),
)  # fmt: skip


def _between(axes: Axes, start: tuple[int, int], end: tuple[int, int]) -> None:
    """An arrow from the edge of one piece to the edge of another."""
    (x0, y0), (x1, y1) = ((3.1 * column, 1.6 * row) for column, row in (start, end))
    if y0 == y1:
        arrow(axes, (x0 + 0.85, y0), (x1 - 0.85, y1))
    else:
        aside = 0.0 if x0 == x1 else 0.5 * np.sign(x1 - x0)
        arrow(axes, (x0 + aside, y0 - 0.55), (x1 - aside, y1 + 0.55))
