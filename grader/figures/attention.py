"""The pictures of lesson 02."""

from collections.abc import Sequence

import numpy as np
from matplotlib.patches import Polygon

from grader.figures.style import (
    BLUE,
    DARK,
    GREY,
    ORANGE,
    arrow,
    bars,
    box,
    drawing,
    heat_map,
    label_words,
    weights_of,
)


def one_head() -> None:
    """The flow of data through one head, from x to the output, with shapes."""
    with drawing(size=(9.6, 3.5)) as (_, axes):
        axes.set(xlim=(-0.1, 12.4), ylim=(0.1, 4.3))
        axes.axis("off")
        box(axes, (0.8, 2.2), "$x$", "(S, d_model)")
        for y, letter, width in ((3.6, "Q", "d_k"), (2.2, "K", "d_k"), (0.8, "V", "d_v")):
            box(axes, (3.4, y), rf"${letter} = x\,W_{letter.lower()}$", f"(S, {width})", ORANGE)
            arrow(axes, (1.6, 2.2), (2.6, y))
        box(axes, (6.0, 2.9), "scores\n" + r"$Q K^T / \sqrt{d_k}$", "(S_q, S_k)")
        arrow(axes, (4.2, 3.6), (5.2, 3.1))
        arrow(axes, (4.2, 2.2), (5.2, 2.7))
        box(axes, (7.9, 2.9), "mask", "lesson 3", GREY, "///")
        arrow(axes, (6.8, 2.9), (7.3, 2.9))
        box(axes, (9.7, 2.9), "softmax\nalong the keys", "$P$ (S_q, S_k)")
        arrow(axes, (8.5, 2.9), (8.9, 2.9))
        box(axes, (11.5, 1.6), "output\n$P\\,V$", "(S_q, d_v)")
        arrow(axes, (10.5, 2.7), (11.1, 2.1))
        arrow(axes, (4.2, 0.8), (10.7, 1.4))


def soft_lookup(scores: Sequence[float], values: Sequence[float], guess: float | None) -> None:
    """The weights of two scores, and the output on a line between the two values."""
    weights = weights_of(np.asarray(scores))
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
