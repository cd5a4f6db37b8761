"""What can be computed before it is wanted: a warm server does it while no order comes, and every
process that is forked from it finds it done. Knows seeds, and nothing else of ours."""

from collections.abc import Callable, Iterable, Iterator

from grader import seeds

work: list[Callable[[], Iterator[None]]] = []


def steps(secrets: Iterable[bytes]) -> Iterator[bool]:
    """Do all the work with each secret folded in, a little at a time; True after each bit."""
    for secret in secrets:
        for each in work:
            seeds.fold_in(secret)
            for _ in each():
                yield True
