"""A Matplotlib backend that keeps what `plt.show()` would show, as PNG.

The student process uses it; nothing else of Matplotlib's state is touched."""

import io
from typing import Any

from matplotlib import pyplot
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg

MOST_PICTURES = 20
LARGEST_PICTURE = 1_000_000  # bytes
LARGEST_SIDE = 30.0  # inches

shown: list[bytes] = []


class FigureManager(FigureManagerBase):
    """Shows a figure by keeping its picture."""

    @classmethod
    def pyplot_show(cls, *, block: bool | None = None) -> None:
        """`plt.show()`: keep every open figure and close it."""
        keep_open_figures()


class FigureCanvas(FigureCanvasAgg):
    """Agg's canvas, managed as above."""

    manager_class: Any = FigureManager


def keep_open_figures() -> None:
    """Draw every open figure into `shown` and close it; one that cannot be drawn is left out."""
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        if len(shown) < MOST_PICTURES and max(figure.get_size_inches()) <= LARGEST_SIDE:
            picture = io.BytesIO()
            figure.savefig(picture, format="png", dpi=90)
            if picture.tell() <= LARGEST_PICTURE:
                shown.append(picture.getvalue())
        pyplot.close(figure)


def take() -> list[bytes]:
    """What was shown since the last call."""
    taken = shown[:MOST_PICTURES]
    shown.clear()
    return taken
