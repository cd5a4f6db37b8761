"""Every picture of the course, in one style. Draws what it is given; imports nothing of ours.

Each function shows its figure and returns None, so that a cell ends without a stray value."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

BLUE, ORANGE, GREY, DARK = "#006BA4", "#C85200", "#8A8A8A", "#333333"
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
    axes.imshow(values, vmin=0.0, vmax=top, aspect="equal")
    axes.set(title=title, xlabel=columns, ylabel=rows)
    axes.set_xticks(range(values.shape[1]))
    axes.set_yticks(range(values.shape[0]))
    axes.spines[:].set_visible(False)
    for (row, column), value in np.ndenumerate(values):
        if hidden is not None and hidden[row, column]:
            corner = (column - 0.5, row - 0.5)
            axes.add_patch(Rectangle(corner, 1, 1, fc="white", ec=GREY, hatch="///", lw=0))
        elif values.size <= NUMBERS_UP_TO:
            colour = "black" if value > 0.55 * top else "white"
            axes.text(column, row, f"{value:.2f}", ha="center", va="center", color=colour)


def bars(axes: Axes, values: Sequence[float], title: str, colour: str = BLUE) -> None:
    """Draw `values` as bars, each with its number above it."""
    drawn = axes.bar(range(len(values)), values, color=colour, width=0.65)
    axes.bar_label(drawn, [f"{value:.3g}" for value in values], padding=2)
    axes.set(title=title, xlabel="position")
    axes.set_xticks(range(len(values)))
    axes.margins(y=0.18)


# --- 01 softmax -------------------------------------------------------------------------------


def softmax_steps(scores: Sequence[float]) -> None:
    """The three stages of a softmax side by side: scores, exponentials, weights."""
    exponentials = np.exp(np.asarray(scores) - max(scores))
    with drawing(3, (9.0, 2.8)) as (_, axes):
        bars(axes[0], scores, "scores", GREY)
        axes[0].axhline(0, color=DARK, lw=0.8)
        bars(axes[1], list(exponentials), "exp(score − maximum)", ORANGE)
        bars(axes[2], list(exponentials / exponentials.sum()), "weights: divided by their sum")
        axes[1].set_ylim(0, 1.2)
        axes[2].set_ylim(0, 1.2)


def times_ten(scores: Sequence[float], guess: str | None) -> None:
    """The weights of `scores` and of ten times `scores`, beside the student's guess."""
    small, big = (_weights(np.asarray(scores) * factor) for factor in (1, 10))
    with drawing(2, (7.5, 2.8)) as (_, axes):
        bars(axes[0], list(small), "weights of the scores")
        bars(axes[1], list(big), "weights of 10 × the scores", ORANGE)
        for each in axes:
            each.set_ylim(0, 1.2)
    print(f"Your guess: {guess or '(none)'}.")
    print(f"Measured: the largest weight goes from {small.max():.2f} to {big.max():.4f}.")


def _weights(scores: np.ndarray) -> np.ndarray:
    exponentials = np.exp(scores - scores.max())
    return np.asarray(exponentials / exponentials.sum())


def both_axes(scores: np.ndarray, right: np.ndarray, wrong: np.ndarray) -> None:
    """A table of scores with the softmax along keys and along queries; sums at the side."""
    with drawing(3, (9.5, 3.2)) as (_, axes):
        heat_map(axes[0], scores, "scores", top=float(scores.max()))
        heat_map(axes[1], right, "along the keys (axis=-1)")
        heat_map(axes[2], wrong, "along the queries (axis=0)")
        for each, weights in zip(axes[1:], (right, wrong), strict=True):
            for row, total in enumerate(weights.sum(axis=1)):
                each.text(weights.shape[1] - 0.4, row, f"Σ {total:.2f}", va="center")


def running_sums(narrow: np.ndarray, wide: np.ndarray) -> None:
    """Two running sums of ones against the number of terms."""
    terms = np.arange(1, len(narrow) + 1)
    with drawing(size=(6.0, 3.0)) as (_, axes):
        axes.plot(terms, wide, color=BLUE, label="float32")
        axes.plot(terms, narrow, color=ORANGE, lw=2.2, ls="--", label="float16")
        axes.set(xlabel="ones added so far", ylabel="running sum", title="Adding ones, one by one")
        axes.legend(loc="upper left")


def weights_against_temperature(
    temperatures: np.ndarray, weights: np.ndarray, scores: Sequence[float]
) -> None:
    """Lines of `weights` (temperatures, positions) over a logarithmic axis of temperature."""
    with drawing(size=(6.4, 3.4)) as (_, axes):
        styles = ("-", "--", "-.", ":")
        for column, score in enumerate(scores):
            line = styles[column % len(styles)]
            axes.plot(temperatures, weights[:, column], ls=line, lw=2, label=f"score {score:g}")
        axes.axhline(1 / len(scores), color=GREY, lw=0.8)
        axes.text(temperatures[0], 1 / len(scores), "all equal", va="bottom", color=DARK)
        axes.set(xscale="log", ylim=(-0.02, 1.05), xlabel="temperature", ylabel="weight")
        axes.set_title("Weights of the same scores, divided by a temperature")
        axes.legend(loc="upper right")
