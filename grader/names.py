"""The names that a piece of Python binds and reads, without running it.

Knows the language only: no notebook, no lesson."""

import re
import symtable
import warnings
from collections.abc import Iterator


def names_bound(source: str) -> set[str]:
    """The names that running `source` binds at top level."""
    return {
        symbol.get_name()
        for symbol in symtable.symtable(source, "cell", "exec").get_symbols()
        if symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()
    }


def names_read(source: str) -> set[str]:
    """The global names that `source` reads, in functions it defines too."""

    def read(table: symtable.SymbolTable) -> Iterator[str]:
        for symbol in table.get_symbols():
            if symbol.is_referenced() and (symbol.is_global() or table.get_type() == "module"):
                yield symbol.get_name()
        for inner in table.get_children():
            yield from read(inner)

    return set(read(symtable.symtable(source, "cell", "exec")))


# Beyond this length reading a cell as Python may take more memory than the whole class's notebooks.
LONGEST_PARSED = 100_000
_DEFINITION = re.compile(
    r"^(?:(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)|(\w+)[ \t]*(?::[^=\n]*)?=(?!=))", re.MULTILINE
)


def names_in(source: str) -> tuple[set[str], set[str]] | None:
    """What `source` binds at top level and what it reads; None if it is not Python.

    For what students wrote: raises nothing, whatever the text is.
    """
    if len(source) > LONGEST_PARSED:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in a string is not our business here
            return names_bound(source), names_read(source)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
        return None


def names_guessed(source: str) -> tuple[set[str], set[str]]:
    """The same from the look of a text that is not Python: a syntax error, a line with %magic."""
    bound = {name for found in _DEFINITION.findall(source) for name in found if name}
    return bound, set(re.findall(r"\w+", source))
