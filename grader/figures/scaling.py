"""The pictures of lesson 04."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from grader.figures.style import BLUE, DARK, GREY, LINES, ORANGE, drawing, weights_of

Curve = Sequence[float] | np.ndarray
MARKERS = "os^Dv"


def same_scores_wider(scores: np.ndarray, factors: Sequence[float]) -> None:
    """The weights of `scores` times each factor, a panel for each."""
    with drawing(len(factors), (2.7 * len(factors), 2.7)) as (_, axes):
        for each, factor in zip(np.ravel(axes), factors, strict=True):
            weights = weights_of(scores * factor)
            drawn = each.bar(range(len(weights)), weights, color=BLUE, width=0.65)
            each.bar_label(drawn, [f"{weight:.2f}" for weight in weights], padding=2)
            each.set(title=f"scores × {factor:g}", xlabel="key position", ylim=(0, 1.15))
            each.set_xticks(range(len(weights)))
        np.ravel(axes)[0].set_ylabel("weight")


def spread_by_width(
    widths: Sequence[int],
    spreads: Curve,
    guesses: Sequence[float] | None,
    guessed_at: Sequence[int],
) -> None:
    """Measured standard deviations of dot products on the line of √d_k, with the guesses."""
    with drawing(size=(6.2, 3.5)) as (_, axes):
        axes.plot(widths, np.sqrt(widths), color=GREY, lw=1.5, label="√d_k")
        axes.plot(widths, spreads, "o", color=BLUE, label="measured")
        if guesses:
            axes.plot(guessed_at, guesses, "v", ms=9, mfc="none", color=ORANGE, label="your guess")
        _logarithmic(axes, widths)
        highest = max([*spreads, *(guesses or [])])
        axes.set_yticks([2**power for power in range(1, 12) if 2**power <= 1.5 * highest])
        axes.set(ylabel="standard deviation of q·k", title="How far dot products spread")
        axes.legend(loc="upper left")
    print("d_k     ", *(f"{width:7}" for width in guessed_at))
    told = [f"{guess:7g}" for guess in guesses] if guesses else ["(none)"]
    print("guess   ", *told)
    measured = dict(zip(widths, spreads, strict=True))
    print("measured", *(f"{measured[width]:7.2f}" for width in guessed_at))


def entropy_by_width(widths: Sequence[int], curves: Mapping[str, Curve], most: float) -> None:
    """Median entropies against d_k, below the line of the largest possible one."""
    with drawing(size=(6.2, 3.3)) as (_, axes):
        axes.axhline(most, color=GREY, lw=0.8)
        axes.text(widths[0], most, "all keys alike", va="bottom")
        _curves(axes, widths, curves)
        _logarithmic(axes, widths, "linear")
        axes.set(ylim=(-0.06, 1.15 * most), ylabel="median entropy (nats)")
        axes.set_title("How evenly a query spreads its weight over 5 keys")


def gradient_by_width(widths: Sequence[int], curves: Mapping[str, Curve]) -> None:
    """Median lengths of the gradient of a row of scores against d_k, both logarithmic."""
    with drawing(size=(6.2, 3.5)) as (_, axes):
        _curves(axes, widths, curves)
        _logarithmic(axes, widths)
        axes.set_ylabel("median length of a row's gradient")
        axes.set_title("What is left of a gradient behind the softmax")
    for name, values in curves.items():
        told = ", ".join(
            f"{value:.2g} at {width}"
            for width, value in zip(widths, values, strict=True)
            if width in (16, 256, 1024)
        )
        print(f"{name:9} {told}")


def wrong_scales(widths: Sequence[int], curves: Mapping[str, Curve]) -> None:
    """The spread of scores that were divided in different ways, against d_k; the first is right."""
    with drawing(size=(7.4, 3.9)) as (_, axes):
        right, *_ = curves
        axes.plot(widths, curves[right], color=DARK, lw=5, alpha=0.3, label=f"{right} (right)")
        rest = {name: values for name, values in curves.items() if name != right}
        _curves(axes, widths, rest, legend=False)
        _logarithmic(axes, widths)
        axes.set(
            ylabel="standard deviation of the scores",
            title="How far scores spread that were divided …",
        )
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def training(panels: Mapping[str, Mapping[str, np.ndarray]]) -> None:
    """The share of queries that find their key, by step; a panel for each loss."""
    with drawing(len(panels), (4.6 * len(panels), 3.9)) as (_, axes):
        for each, (title, runs) in zip(np.ravel(axes), panels.items(), strict=True):
            for (name, found), (colour, style) in zip(runs.items(), LINES, strict=False):
                each.plot(found, color=colour, ls=style, lw=2, label=name)
            each.set(title=title, xlabel="step", ylim=(-0.03, 1.05))
            each.legend(loc="upper left", bbox_to_anchor=(0.0, -0.2))
        np.ravel(axes)[0].set_ylabel("share that picks the right key")


def _curves(
    axes: Axes, widths: Sequence[int], curves: Mapping[str, Curve], legend: bool = True
) -> None:
    """A line with markers for each curve; colour, dashes and marker all tell which."""
    for (name, values), (colour, style), marker in zip(
        curves.items(), LINES, MARKERS, strict=False
    ):
        axes.plot(widths, values, color=colour, ls=style, marker=marker, ms=5, label=name)
    if legend:
        axes.legend(loc="best")


def _logarithmic(axes: Axes, widths: Sequence[int], upwards: str = "log") -> None:
    """Widths along a logarithmic axis, named by powers of two; plain numbers upwards."""
    axes.set(xscale="log", yscale=upwards, xlabel="d_k, the width of a head")
    axes.set_xticks(widths, [str(width) for width in widths])
    axes.minorticks_off()
    if upwards == "log":
        axes.yaxis.set_major_formatter("{x:g}")
