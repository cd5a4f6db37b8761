"""The pictures of lesson 03."""

from collections.abc import Mapping

import numpy as np

from grader.figures.style import BLUE, ORANGE, drawing, heat_map, mask_table, weight_bars


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
        axes.set(xlabel="key position (hatched: later than the query)", ylabel="weight")
    print(f"your guess: {'(none)' if guess is None else guess}")
    print(f"measured:   {weights[1:].sum():.2f} of its weight falls on later tokens")


def dominant_key(weights: Mapping[str, np.ndarray], hidden: int) -> None:
    """Bars of one query's weights, several times; the key that is to be hidden is hatched."""
    with drawing(len(weights), (3.0 * len(weights), 2.8)) as (_, axes):
        for each, (title, row) in zip(np.ravel(axes), weights.items(), strict=True):
            weight_bars(each, list(row), title)
            each.set_xlabel("key position")
            each.patches[hidden].set(facecolor="white", edgecolor=ORANGE, hatch="///")
        np.ravel(axes)[0].set_ylabel("weight")


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
