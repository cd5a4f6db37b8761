"""Whether bytes that a student's process gave are a picture that may be shown.

Looks at the head of a PNG; decodes none."""

import base64
import struct

LARGEST_PNG = 1_000_000
MOST_PIXELS = 25_000_000


def png(picture: bytes) -> str | None:
    """The picture in base64, if it really is a PNG of a decent size."""
    try:
        magic, width, height = struct.unpack_from(">8s8xII", picture)
    except struct.error:
        return None
    if magic != b"\x89PNG\r\n\x1a\n" or len(picture) > LARGEST_PNG or width * height > MOST_PIXELS:
        return None
    return base64.b64encode(picture).decode("ascii")
