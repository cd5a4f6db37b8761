"""A stand-in for a module that a process shall not have: it can be imported and called, and does
nothing. The checks in the student's process, the figures in the examiner's."""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class Inert(ModuleType):
    """A module in which every name is a function that does nothing."""

    __path__ = []  # noqa: RUF012  (a package to the import system)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: None


class Finder:
    """Finds an inert module for one name and whatever is imported from it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The import system asks this first."""
        if name == self.name or name.startswith(self.name + "."):
            return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """An inert module of that name."""
        return Inert(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run."""


def install(name: str) -> None:
    """Put the stand-in for module `name` before everything else that finds modules."""
    sys.meta_path.insert(0, Finder(name))
