"""Every picture of the course, in one style. Draws what it is given; imports nothing of ours.

Each function shows its figure and returns None, so that a cell ends without a stray value."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle

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
    axes.bar_label(drawn, [_told(value) for value in values], padding=2)
    axes.set(title=title, xlabel="candidate")
    axes.set_xticks(range(len(values)))
    axes.margins(y=0.18)


def weight_bars(axes: Axes, weights: Sequence[float], title: str, colour: str = BLUE) -> None:
    """Draw `weights` as bars on an axis from 0 to 1."""
    bars(axes, weights, title, colour)
    axes.set_ylim(0, 1.15)
    axes.set_yticks(np.linspace(0, 1, 6))


def _told(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")


# --- 01 softmax -------------------------------------------------------------------------------


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
    small, big = (_weights(np.asarray(scores) * factor) for factor in (1, 10))
    with drawing(2, (7.5, 2.8)) as (_, axes):
        weight_bars(axes[0], list(small), "weights of the scores")
        weight_bars(axes[1], list(big), "weights of 10 × the scores", ORANGE)
    print(f"your guess: {guess or '(none)'}")
    print(f"measured:   sharper, the largest weight goes from {small.max():.2f} to {big.max():.2f}")


def _weights(scores: np.ndarray) -> np.ndarray:
    exponentials = np.exp(scores - scores.max())
    return np.asarray(exponentials / exponentials.sum())


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
            label = f"score {_told(score)}"
            axes.plot(temperatures, weights[:, column], color=colour, ls=style, lw=2, label=label)
        axes.axhline(1 / len(scores), color=GREY, lw=0.8)
        axes.text(temperatures[0], 1 / len(scores), "all equal", va="bottom", color=DARK)
        axes.set(xscale="log", ylim=(-0.02, 1.05), xlabel="temperature", ylabel="weight")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set_title("Weights of the same scores, divided by a temperature")
        axes.legend(loc="upper right")


# --- 02 attention -----------------------------------------------------------------------------


def one_head() -> None:
    """The flow of data through one head, from x to the output, with shapes."""
    with drawing(size=(9.6, 3.5)) as (_, axes):
        axes.set(xlim=(-0.1, 12.4), ylim=(0.1, 4.3))
        axes.axis("off")
        _box(axes, (0.8, 2.2), "$x$", "(S, d_model)")
        for y, letter, width in ((3.6, "Q", "d_k"), (2.2, "K", "d_k"), (0.8, "V", "d_v")):
            _box(axes, (3.4, y), rf"${letter} = x\,W_{letter.lower()}$", f"(S, {width})", ORANGE)
            _arrow(axes, (1.55, 2.2), (2.6, y))
        _box(axes, (6.0, 2.9), "scores\n" + r"$Q K^T / \sqrt{d_k}$", "(S_q, S_k)")
        _arrow(axes, (4.2, 3.6), (5.2, 3.1))
        _arrow(axes, (4.2, 2.2), (5.2, 2.7))
        _box(axes, (7.9, 2.9), "mask", "lesson 3", GREY, "///")
        _arrow(axes, (6.8, 2.9), (7.3, 2.9))
        _box(axes, (9.7, 2.9), "softmax\nalong the keys", "$P$ (S_q, S_k)")
        _arrow(axes, (8.5, 2.9), (8.9, 2.9))
        _box(axes, (11.5, 1.6), "output\n$P\\,V$", "(S_q, d_v)")
        _arrow(axes, (10.5, 2.7), (11.1, 2.15))
        _arrow(axes, (4.2, 0.8), (10.75, 1.4))


def _box(
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


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    style = {"arrowstyle": "-|>", "color": DARK, "lw": 1.2, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", xy=end, xytext=start, arrowprops=style)


def soft_lookup(scores: Sequence[float], values: Sequence[float], guess: float | None) -> None:
    """The weights of two scores, and the output on a line between the two values."""
    weights = _weights(np.asarray(scores))
    output = float(weights @ np.asarray(values))
    with drawing(2, (8.6, 2.6)) as (_, axes):
        bars(axes[0], list(weights), "weights")
        axes[0].set(xlabel="key", ylim=(0, 1.05))
        line = axes[1]
        line.plot(values, [0, 0], color=GREY, lw=1.5, zorder=1)
        line.scatter(values, [0, 0], s=70, color=BLUE, zorder=2, label="the two values")
        line.scatter([output], [0], s=90, marker="D", color=ORANGE, zorder=3, label="output")
        if guess is not None:
            line.scatter([guess], [0.25], marker="v", color=DARK, label="your guess")
        line.set(title="between the values", xlabel="value", yticks=[], ylim=(-0.6, 1.6))
        line.spines["left"].set_visible(False)
        line.legend(loc="upper left", ncols=3, columnspacing=1, handletextpad=0.2)
    print(f"Your guess: {'(none)' if guess is None else guess}. The output: {output:.4g}.")


def prefix_weights(weights: np.ndarray) -> None:
    """A square table of weights in which each query was given the keys up to its own position."""
    hidden = np.triu(np.ones(weights.shape, dtype=bool), 1)
    with drawing(size=(4.2, 3.8)) as (_, axes):
        heat_map(axes, weights, "weights of the worked example", hidden=hidden)


def label_words(axes: Axes, words: Sequence[str]) -> None:
    """Name the rows and columns of a square heat map by these words."""
    axes.set_xticks(range(len(words)), words, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(words)), words)


def looks_at(words: Sequence[str], weights: np.ndarray, word: int) -> None:
    """The weights between words as a heat map, and those of one word as lines."""
    with drawing(2, (9.6, 4.0)) as (_, axes):
        heat_map(
            axes[0], weights, "weights", "query: the word that looks", "key: looked at", top=0.5
        )
        label_words(axes[0], words)
        right = axes[1]
        right.set(title=f"where “{words[word]}” looks", xlim=(-0.7, 3.2), ylim=(len(words), -0.8))
        right.axis("off")
        right.text(0, (len(words) - 1) / 2, words[word], ha="center", va="center", size=13)
        for row, (name, weight) in enumerate(zip(words, weights[word], strict=True)):
            ends = ([0.36, 1.9], [(len(words) - 1) / 2, row])
            right.plot(*ends, color=ORANGE, lw=14 * weight, solid_capstyle="butt")
            right.text(2.0, row, f"{name}  {weight:.2f}", va="center", size=11)


def among_values(values: np.ndarray, outputs: np.ndarray, wrong: np.ndarray) -> None:
    """Three values in the plane with the triangle between them, outputs inside, others outside."""
    with drawing(size=(5.6, 4.0)) as (_, axes):
        axes.add_patch(Polygon(values, fc=BLUE, alpha=0.15, ec=BLUE, lw=1.5))
        axes.scatter(*values.T, s=60, marker="s", color=BLUE, label="values")
        axes.scatter(*outputs.T, s=45, color=DARK, label="your outputs")
        axes.scatter(*wrong.T, s=70, marker="x", lw=2, color=ORANGE, label="keys used as values")
        axes.set(xlabel="component 0", ylabel="component 1", title="outputs among the values")
        axes.set_aspect("equal")
        axes.margins(0.12)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def shuffled(
    words: Sequence[str], weights: np.ndarray, order: Sequence[int], after: np.ndarray
) -> None:
    """The weights of a sentence beside those of the same words in another order."""
    with drawing(2, (9.2, 4.2)) as (_, axes):
        heat_map(axes[0], weights, "as it was", "query", "key", top=0.5)
        label_words(axes[0], words)
        heat_map(axes[1], after, "shuffled", "query", "key", top=0.5)
        label_words(axes[1], [words[index] for index in order])


# --- 03 masks ---------------------------------------------------------------------------------


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


def masks(tables: Mapping[str, np.ndarray], rows: str = "query position") -> None:
    """Several masks side by side; a blue cell with a dot may be attended to, hatched is hidden."""
    widths = [table.shape[1] for table in tables.values()]
    height = max(table.shape[0] for table in tables.values())
    size = (1.1 + sum(0.36 * width + 0.65 for width in widths), 1.0 + 0.36 * height)
    with drawing(len(tables), size) as (_, axes):
        if len(tables) > 1:
            axes[0].get_gridspec().set_width_ratios(widths)
        for each, (title, table) in zip(np.ravel(axes), tables.items(), strict=True):
            mask_table(each, table, title, rows)
            each.set_ylabel(rows if each is np.ravel(axes)[0] else "")


def weights_under(tables: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> None:
    """Heat maps of weights (S_q, S_k), each with its mask; hidden cells are hatched."""
    with drawing(len(tables), (0.6 + 3.0 * len(tables), 3.1)) as (_, axes):
        for each, (title, (weights, mask)) in zip(np.ravel(axes), tables.items(), strict=True):
            heat_map(each, weights, title, hidden=~np.broadcast_to(mask, weights.shape))


def future_share(weights: np.ndarray, guess: float | None) -> None:
    """The weights of query 0 without a mask, later keys in another colour; beside the guess."""
    with drawing(size=(5.0, 2.8)) as (_, axes):
        weight_bars(axes, list(weights), "weights of query 0 without a mask")
        for bar in axes.patches[1:]:
            bar.set(facecolor="white", edgecolor=ORANGE, hatch="///")
        axes.set_xlabel("key position (hatched: later than the query)")
    print(f"your guess: {'(none)' if guess is None else guess}")
    print(f"measured:   {weights[1:].sum():.2f} of its weight falls on later tokens")


def dominant_key(weights: Mapping[str, np.ndarray], hidden: int) -> None:
    """Bars of one query's weights, several times; the key that is to be hidden is hatched."""
    with drawing(len(weights), (3.0 * len(weights), 2.8)) as (_, axes):
        for each, (title, row) in zip(np.ravel(axes), weights.items(), strict=True):
            weight_bars(each, list(row), title)
            each.set_xlabel("key position")
            each.patches[hidden].set(facecolor="white", edgecolor=ORANGE, hatch="///")


def change_by_position(changes: Mapping[str, np.ndarray], edited: int) -> None:
    """How much each output moved after one input was edited, a panel for each mask."""
    top = max(float(change.max()) for change in changes.values())
    with drawing(len(changes), (3.3 * len(changes), 2.9)) as (_, axes):
        for each, (title, change) in zip(np.ravel(axes), changes.items(), strict=True):
            colours = [ORANGE if i < edited and moved else BLUE for i, moved in enumerate(change)]
            drawn = each.bar(range(len(change)), change, color=colours, width=0.65)
            for bar, colour in zip(drawn, colours, strict=True):
                bar.set_hatch("///" if colour == ORANGE else "")
                bar.set_edgecolor("white")
            each.bar_label(drawn, [f"{moved:.3f}" if moved else "0" for moved in change], padding=2)
            each.set(title=title, xlabel="output position", ylim=(0, 1.18 * top))
            each.set_xticks(range(len(change)))
        np.ravel(axes)[0].set_ylabel(f"change after editing input {edited}")
