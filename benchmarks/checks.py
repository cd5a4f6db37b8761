"""How long each check takes on the solved lessons, and how much of it the oracle takes.

    python benchmarks/checks.py

A check run in a notebook should answer in under 100 ms. Prints a table; judges nothing."""

import contextlib
import io
import statistics
import sys
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.table import Table

from grader import course, oracle, term
from grader.lesson import grade_id
from tests.student import graded_cells, last_value, namespace

RUNS = 7


@contextlib.contextmanager
def clocked_oracle() -> Iterator[list[float]]:
    """Yield a list to which every outermost call of an oracle function adds its seconds."""
    spent: list[float] = []
    depth = 0

    def clocked(function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            nonlocal depth
            depth += 1
            start = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                depth -= 1
                if not depth:
                    spent.append(time.perf_counter() - start)

        return run

    originals = {n: f for n, f in vars(oracle).items() if isinstance(f, types.FunctionType)}
    vars(oracle).update({name: clocked(function) for name, function in originals.items()})
    try:
        yield spent
    finally:
        vars(oracle).update(originals)


def seconds(source: str, names: dict[str, Any]) -> tuple[float, float]:
    """Median seconds of running a graded cell, and of the oracle in it."""
    runs = []
    for _ in range(RUNS):
        with clocked_oracle() as spent, contextlib.redirect_stdout(io.StringIO()):
            start = time.perf_counter()
            last_value(source, dict(names))
            runs.append((time.perf_counter() - start, sum(spent)))
    whole, part = zip(*runs, strict=True)
    return statistics.median(whole), statistics.median(part)


def main() -> None:
    """Print a row for every graded cell of the course."""
    table = Table("check", "ms", "oracle ms", "check / oracle", box=None)
    for entry in course.lessons():
        names = namespace(entry)
        for cell in term.progress(graded_cells(entry), entry.name):
            whole, part = seconds(cell.source, names)
            ratio = f"{whole / part:.1f}" if part else "–"
            table.add_row(grade_id(cell), f"{whole * 1e3:.1f}", f"{part * 1e3:.2f}", ratio)
    term.out.print(table)


if __name__ == "__main__":
    main()
