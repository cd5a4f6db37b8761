"""Attention at S = 8192, d = 64, no mask, four ways side by side in one run: the textbook's full
table of scores, one table changed in place, blocks of 256 keys, and tiles of 256 × 256.

    python -m benchmarks.tiling [--length S] [--runs N]

Blocks and tiles are lesson 07's own code, read from its solution. Prints time and peak memory with
their ratios to the textbook's; exit status 1 when tiles take more than 1.5 of its time, or more
than 1/20 of its peak or of the peak in place.
"""

import argparse
import contextlib
import io
import math
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.table import Table

from grader import course, term
from grader import notebook as nb
from grader.lesson import Kind, grade_id, kind

LESSON = "07-online-softmax"
WIDTH, TILE = 64, 256
MOST_TIME, MOST_MEMORY = 1.5, 1 / 20

Way = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def textbook(Q: np.ndarray, K: np.ndarray, V: np.ndarray) -> np.ndarray:
    """softmax(Q Kᵀ / √d_k) V, as it is written."""
    scores = Q @ K.T / math.sqrt(Q.shape[-1])
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return np.asarray(weights @ V)


def in_place(Q: np.ndarray, K: np.ndarray, V: np.ndarray) -> np.ndarray:
    """The same with one table of scores, changed step by step."""
    table = Q @ K.T
    table /= math.sqrt(Q.shape[-1])
    table -= table.max(axis=-1, keepdims=True)
    np.exp(table, out=table)
    table /= table.sum(axis=-1, keepdims=True)
    return np.asarray(table @ V)


def of_lesson() -> tuple[Way, Way]:
    """The lesson's attention in blocks of keys, and in tiles."""
    names: dict[str, Any] = {"rng": np.random.default_rng(0)}
    for cell in nb.read(course.lesson(LESSON).solution).cells:
        if kind(cell) in (Kind.SETUP, Kind.ANSWER) or grade_id(cell) == "tiled":
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(cell.source, f"<{grade_id(cell)}>", "exec"), names)
    blocked, tiled = names["online_attention"], names["tiled_attention"]
    return lambda Q, K, V: blocked(Q, K, V, TILE), lambda Q, K, V: tiled(Q, K, V, TILE)


def seconds(ways: dict[str, Way], runs: int, arrays: tuple[np.ndarray, ...]) -> dict[str, float]:
    """The shortest time of each way; they take turns, so that a busy moment hits all."""
    best = dict.fromkeys(ways, math.inf)
    for _ in range(runs):
        for name, way in ways.items():
            start = time.perf_counter()
            way(*arrays)
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def peak(way: Way, arrays: tuple[np.ndarray, ...]) -> float:
    """The most memory that the call holds at once, in MiB."""
    tracemalloc.start()
    way(*arrays)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 2**20


def main() -> None:
    """Measure, print one table, and judge."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--length", type=int, default=8192)
    options.add_argument("--runs", type=int, default=3)
    chosen = options.parse_args()
    Q, K, V = np.random.default_rng(0).normal(size=(3, chosen.length, WIDTH))
    blocked, tiled = of_lesson()
    ways: dict[str, Way] = {
        "textbook": textbook, "in place": in_place, "blocks of keys": blocked, "tiles": tiled,
    }  # fmt: skip
    assert np.allclose(tiled(Q, K, V), textbook(Q, K, V), rtol=1e-9, atol=1e-12)
    took = seconds(ways, chosen.runs, (Q, K, V))
    held = {name: peak(way, (Q, K, V)) for name, way in ways.items()}
    show(took, held, chosen.length)
    slow = took["tiles"] > MOST_TIME * took["textbook"]
    large = held["tiles"] > MOST_MEMORY * min(held["textbook"], held["in place"])
    sys.exit(int(slow or large))


def show(took: dict[str, float], held: dict[str, float], length: int) -> None:
    """A row for each way."""
    table = Table(f"S = {length}, d = {WIDTH}", box=None)
    for column in ("s", "of textbook", "peak MiB", "of textbook"):
        table.add_column(column, justify="right")
    for name in took:
        share = held["textbook"] / held[name]
        table.add_row(
            name, f"{took[name]:.2f}", f"{took[name] / took['textbook']:.2f}",
            f"{held[name]:.1f}", f"1/{share:.3g}",
        )  # fmt: skip
    term.out.print(table)


if __name__ == "__main__":
    main()
