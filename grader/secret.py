"""The course's secret: what makes the random inputs of its graded cells its own.

Made at random once and kept beside the gradebook, so that a regrade gives the same score."""

import os
import secrets
from pathlib import Path

VARIABLE = "GRADER_SECRET"


def known_secret(file: Path) -> bytes | None:
    """The secret in the environment or in `file`; None where there is none yet."""
    if told := os.environ.get(VARIABLE):
        return told.encode()
    return file.read_text().strip().encode() if file.exists() else None


def course_secret(file: Path) -> bytes:
    """The secret in the environment, else the one in `file`, which is made if it is not there."""
    if known := known_secret(file):
        return known
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        beside = file.with_name(f".{file.name}.{os.getpid()}")
        beside.touch(mode=0o600)
        beside.write_text(secrets.token_hex(16))
        try:
            os.link(beside, file)  # whoever came first made the one that counts
        except FileExistsError:
            pass
        finally:
            beside.unlink()
    return file.read_text().strip().encode()
