"""What can be computed before the first notebook comes: a warm server does it once, and every
process that is forked from it finds it done. Imports nothing of ours."""

from collections.abc import Callable

work: list[Callable[[], None]] = []


def do() -> None:
    """Do it all, for the seed that is folded in now."""
    for each in work:
        each()
