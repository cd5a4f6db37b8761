"""What people see at the command line: two consoles and a progress bar.

Results go to stdout, progress and notes to stderr, so that output can be piped. Imports nothing
of ours."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

Item = TypeVar("Item")

PIPED_WIDTH = 120  # columns where there is no terminal to ask

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)
for console in (out, err):
    if not console.is_terminal:
        console.width = PIPED_WIDTH


@contextmanager
def counted(total: int, text: str) -> Iterator[Callable[[], None]]:
    """A bar on stderr that the function it gives moves on by one, from any thread."""
    with _bar(text) as bar:
        task = bar.add_task("", total=total)
        yield lambda: bar.advance(task)


def progress(items: Sequence[Item] | Iterable[Item], text: str) -> Iterator[Item]:
    """Yield the items while a bar on stderr counts them; without a terminal, nothing is drawn."""
    waiting = list(items)
    with _bar(text) as bar:
        yield from bar.track(waiting, total=len(waiting))


def _bar(text: str) -> Progress:
    columns = (TextColumn(text), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
