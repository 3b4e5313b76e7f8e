"""The colors of classes in all plots."""

from typing import Any

import numpy as np
import numpy.typing as npt

#: Ten colors that are distinct with any color vision (Petroff, arXiv:2107.02270). Further classes
#: get darker or paler shades of them, and other markers.
PALETTE = (
    "3f90da", "ffa90e", "bd1f01", "94a4a2", "832db6",
    "a96b59", "e76300", "b9ac70", "717581", "92dadd",
)  # fmt: skip


def colors_of(n_classes: int) -> npt.NDArray[Any]:
    """Return the color of each class, as red, green and blue from 0 to 1."""
    base = np.array([list(bytes.fromhex(color)) for color in PALETTE]) / 255
    shades = np.vstack((base, 0.55 * base, 0.55 * base + 0.45))
    return shades[np.arange(n_classes) % len(shades)]


def hex_of(code: int) -> str:
    """Return the color of a class in HTML's notation."""
    return "#" + bytes((255 * colors_of(code + 1)[code]).round().astype(np.uint8)).hex()
