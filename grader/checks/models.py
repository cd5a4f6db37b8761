"""The models that `generate` is asked to sample from, and the masks of the three training runs.

A model is lent as `step`: new token ids (n) in, logits (n, V) out; it writes down what it is
given."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray


@dataclass
class Bigram:
    """A model that knows one thing: the logits (V, V) of what follows each token."""

    logits: Array
    calls: list[list[int]] = field(default_factory=list)

    def __call__(self, tokens: Any) -> Array:
        """The logits (n, V) after each of the new tokens."""
        self.calls.append(ids_of(tokens, len(self.logits)))
        return self.logits[self.calls[-1]]

    def __repr__(self) -> str:
        numbers = np.array2string(self.logits, separator=", ", threshold=100, max_line_width=10_000)
        text = " ".join(numbers.split()).replace("inf", "np.inf").replace("[ ", "[")
        return f"check.bigram({text})"


@dataclass
class Counting:
    """A model of n tokens that is sure of the next one: the last id plus how many came together.

    So every call's form shows in what comes out; all rows of logits (n, V) are alike.
    """

    n: int
    calls: list[list[int]] = field(default_factory=list)

    def __call__(self, tokens: Any) -> Array:
        """Logits (n, V): 0 for the next token, far less for all others."""
        ids = ids_of(tokens, self.n)
        self.calls.append(ids)
        logits = np.full((len(ids), self.n), -40.0)
        logits[:, (ids[-1] + len(ids)) % self.n] = 0.0
        return logits

    def __repr__(self) -> str:
        return f"check.counting({self.n})"


def ids_of(tokens: Any, n: int) -> list[int]:
    """The ids in a list, a tuple or an integer array. Raises TypeError or ValueError if not."""
    if isinstance(tokens, list | tuple):
        tokens = np.array([np.asarray(token) for token in tokens] or np.zeros(0))
    if not isinstance(tokens, np.ndarray) or tokens.dtype.kind not in "iu":
        raise TypeError("step takes a list of whole numbers, the new token ids")
    if tokens.ndim != 1 or not tokens.size:
        raise ValueError(f"step takes a list of at least one token id; it got shape {tokens.shape}")
    if tokens.min() < 0 or tokens.max() >= n:
        raise ValueError(f"a token id must lie between 0 and {n - 1}; step got {tokens.tolist()}")
    return [int(token) for token in tokens]


def run_mask(name: str, length: int) -> Array:
    """The mask (S, S) under which the training run of this name trains."""
    return {
        "A": np.eye(length, dtype=bool),
        "B": np.tri(length, k=1, dtype=bool),
        "C": np.tri(length, dtype=bool),
    }[name]
