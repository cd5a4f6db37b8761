"""The pictures of lesson 01."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from grader.figures.style import (
    BLUE,
    DARK,
    GREY,
    LINES,
    ORANGE,
    bars,
    drawing,
    heat_map,
    told,
    weight_bars,
    weights_of,
)


def softmax_steps(scores: Sequence[float]) -> None:
    """The three stages of a softmax side by side: scores, exponentials, weights."""
    exponentials = np.exp(np.asarray(scores))
    with drawing(3, (9.0, 2.8)) as (_, axes):
        bars(axes[0], scores, "scores", GREY)
        axes[0].axhline(0, color=DARK, lw=0.8)
        bars(axes[1], list(exponentials), "exponentials: exp(score)", ORANGE)
        weights = list(exponentials / exponentials.sum())
        weight_bars(axes[2], weights, "weights: divided by their sum")


def times_ten(scores: Sequence[float], guess: str | None) -> None:
    """The weights of `scores` and of ten times `scores`, beside the student's guess."""
    small, big = (weights_of(np.asarray(scores) * factor) for factor in (1, 10))
    with drawing(2, (7.5, 2.8)) as (_, axes):
        weight_bars(axes[0], list(small), "weights of the scores")
        weight_bars(axes[1], list(big), "weights of 10 × the scores", ORANGE)
    print(f"your guess: {guess or '(none)'}")
    print(f"measured:   sharper, the largest weight goes from {small.max():.2f} to {big.max():.2f}")


def both_axes(scores: np.ndarray, right: np.ndarray, wrong: np.ndarray) -> None:
    """A table of scores with the softmax along keys and along queries, and the sums of both."""
    with drawing(3, (10.0, 3.4)) as (_, axes):
        heat_map(axes[0], scores, "scores", top=float(scores.max()))
        heat_map(axes[1], right, "along the keys (axis=-1)")
        heat_map(axes[2], wrong, "along the queries (axis=0)")
        for each, weights in zip(axes[1:], (right, wrong), strict=True):
            _add_sums(each, weights)


def _add_sums(axes: Axes, weights: np.ndarray) -> None:
    """Write the sum of each row at its right, and of each column below it."""
    for row, total in enumerate(weights.sum(axis=1)):
        axes.text(weights.shape[1] - 0.4, row, f"Σ {total:.2f}", va="center")
    columns = [f"{column}\nΣ {total:.2f}" for column, total in enumerate(weights.sum(axis=0))]
    axes.set_xticks(range(len(columns)), columns)


def running_sums(narrow: np.ndarray, wide: np.ndarray) -> None:
    """Two running sums of ones against the number of terms."""
    terms = np.arange(1, len(narrow) + 1)
    with drawing(size=(6.0, 3.0)) as (_, axes):
        axes.plot(terms, wide, color=BLUE)
        axes.plot(terms, narrow, color=ORANGE, lw=2.2, ls="--")
        axes.set(xlabel="ones added so far", ylabel="running sum", title="Adding ones, one by one")
        for sums, name in ((wide, "float32"), (narrow, "float16")):
            axes.text(terms[-1] * 1.01, sums[-1], f"{name}: {sums[-1]:.0f}", va="center")


def weights_against_temperature(
    temperatures: np.ndarray, weights: np.ndarray, scores: Sequence[float]
) -> None:
    """Lines of `weights` (temperatures, candidates) over a logarithmic axis of temperature."""
    with drawing(size=(6.4, 3.4)) as (_, axes):
        for column, score in enumerate(scores):
            colour, style = LINES[column % len(LINES)]
            label = f"score {told(score)}"
            axes.plot(temperatures, weights[:, column], color=colour, ls=style, lw=2, label=label)
        axes.axhline(1 / len(scores), color=GREY, lw=0.8)
        axes.text(temperatures[0], 1 / len(scores), "all equal", va="bottom", color=DARK)
        axes.set(xscale="log", ylim=(-0.02, 1.05), xlabel="temperature", ylabel="weight")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set_title("Weights of the same scores, divided by a temperature")
        axes.legend(loc="upper right")
