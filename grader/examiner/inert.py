"""A stand-in for grader.checks in the student process: it can be imported and called, and does
nothing. The real checks are never loaded there."""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

NAME = "grader.checks"


class Inert(ModuleType):
    """A module in which every name is a function that does nothing."""

    __path__ = []  # noqa: RUF012  (a package to the import system)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: None


class Finder:
    """Finds an inert module for grader.checks and whatever is imported from it."""

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The import system asks this first."""
        if name == NAME or name.startswith(NAME + "."):
            return ModuleSpec(name, cls(), is_package=True)  # type: ignore[arg-type]
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """An inert module of that name."""
        return Inert(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run."""


def install() -> None:
    """Put the stand-in before everything else that finds modules."""
    sys.meta_path.insert(0, Finder)
