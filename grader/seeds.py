"""Where every check's random numbers come from, so that the examiner can change them.

Imports nothing of ours."""

import hashlib

import numpy as np

_secret = b""


def generator(name: str) -> np.random.Generator:
    """The random numbers of the case called `name`: public ones, or the course's secret ones."""
    digest = hashlib.sha256(name.encode() + _secret).digest()
    return np.random.default_rng(np.frombuffer(digest, np.uint8).astype(np.uint32))


def secret() -> bytes:
    """What is folded in now."""
    return _secret


def fold_in(secret: bytes) -> None:
    """Make every later `generator` depend on `secret`; b"" gives the public numbers again."""
    global _secret
    _secret = secret
