"""The colors of classes, in all pictures."""

from typing import Any

import numpy as np
import numpy.typing as npt

#: Ten colors that can be told apart with any color vision (Petroff, arXiv:2107.02270). Every
#: further ten classes get a darker or a paler shade of them, and another marker.
PALETTE = (
    "3f90da", "ffa90e", "bd1f01", "94a4a2", "832db6",
    "a96b59", "e76300", "b9ac70", "717581", "92dadd",
)  # fmt: skip


def colors_of(n_classes: int) -> npt.NDArray[Any]:
    """Return a color for each class, as shares of red, green and blue."""
    base = np.array([list(bytes.fromhex(color)) for color in PALETTE]) / 255
    shades = np.vstack((base, 0.55 * base, 0.55 * base + 0.45))
    return shades[np.arange(n_classes) % len(shades)]


def hex_of(code: int) -> str:
    """Return the color of a class as HTML writes it."""
    return "#" + bytes((255 * colors_of(code + 1)[code]).round().astype(np.uint8)).hex()
