"""Plan the memory of a fit: the number of cells, the rows in a piece, the threads."""

from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from opforest._utils import tuning

#: Bytes of the program itself, with compiled code.
PROGRAM = 300_000_000

#: Bytes for each example of a cell while its forest is found, besides its coordinates, of which
#: there are COPIES; for each edge between fragments while cells are joined.
GROWTH, COPIES, EDGE = 150, 4, 700

#: Copies of a piece, with labels and ids.
PIECE_COPIES = 5

#: Cells may be larger than planned, because planes follow from a sample.
IMBALANCE = 1.3

MAX_CELLS = 1 << 14

#: Bytes by which the memory that an error names is rounded up, at least.
STEP = 5_000_000


class Plan(NamedTuple):
    """How a fit uses memory."""

    n_cells: int  #: a power of 2
    piece: int  #: rows
    max_bytes: float
    bytes_per_example: float  #: of a cell that is being grown


def require_memory(max_bytes: float) -> None:
    """Raise a ``ValueError`` if no examples at all could be fitted in this memory."""
    if not isinstance(max_bytes, Real) or isinstance(max_bytes, bool):
        raise ValueError(f"max_bytes must be a number of bytes, such as 2e9, got {max_bytes!r}.")
    if not max_bytes > PROGRAM:
        raise ValueError(
            f"max_bytes must be more than {format_bytes(PROGRAM)}, which the program itself needs, "
            f"got {format_bytes(max_bytes)}."
        )


def make_plan(
    n: int, n_coordinates: int, dtype: np.dtype[Any], max_bytes: float, n_jobs: int,
    *, is_all: bool = True,
) -> Plan:  # fmt: skip
    """Return a plan, or raise a ``ValueError`` if this is not enough memory.

    Unless ``is_all``, more examples follow, which need at least as much.
    """
    plan = _divide_memory(n, n_coordinates, dtype, max_bytes, n_jobs)
    if plan is not None:
        return plan
    needed = max(max_bytes, PROGRAM) + STEP
    while _divide_memory(n, n_coordinates, dtype, needed, n_jobs) is None:
        needed += max(STEP, 0.05 * needed)
    advice = " Allow more memory, or use fewer threads." if n_jobs > 1 else ""
    raise ValueError(
        f"max_bytes must be about {format_bytes(needed)} "
        f"{'' if is_all else 'or more '}for {'' if is_all else 'the first '}{n:,} examples with "
        f"{n_coordinates} coordinates and n_jobs={n_jobs}, got {format_bytes(max_bytes)}.{advice}"
    )


def _divide_memory(
    n: int, n_coordinates: int, dtype: np.dtype[Any], max_bytes: float, n_jobs: int
) -> Plan | None:
    """Return a plan, or None if this is not enough memory."""
    width = n_coordinates * dtype.itemsize
    per_example = GROWTH + COPIES * width
    room = max_bytes - PROGRAM
    largest = room / (n_jobs * per_example * IMBALANCE)
    wanted = max(1.0, min(tuning.values.disk_cell, largest))
    n_cells = 1
    while n / n_cells > wanted:
        n_cells *= 2
    most = min(tuning.values.disk_piece, max(0, room) / PIECE_COPIES)
    piece = int(most // (width + 16))
    uncertain = min(1.0, 3 * (n / n_cells) ** (-1 / n_coordinates))  # edges near borders of cells
    joining = EDGE * n * uncertain if n_cells > 1 else 0.0
    if piece < 1 or joining > room or n_cells > MAX_CELLS:
        return None
    return Plan(n_cells, piece, max_bytes, per_example)


def choose_jobs(plan: Plan, counts: list[int], n_jobs: int) -> int:
    """Return how many of these cells can be grown at a time; raise a ``ValueError`` if none."""
    largest = sorted(counts, reverse=True)
    room = (plan.max_bytes - PROGRAM) / plan.bytes_per_example
    for jobs in range(min(n_jobs, len(counts)), 0, -1):
        if sum(largest[:jobs]) <= room:
            return jobs
    needed = PROGRAM + plan.bytes_per_example * largest[0]
    raise ValueError(
        f"{largest[0]:,} examples are in one cell, because many are equal or nearly so, which "
        f"needs about {format_bytes(1.1 * needed)} of memory: set max_bytes to that."
    )


def format_bytes(size: float) -> str:
    """Return a number of bytes as text.

    Examples
    --------
    >>> from opforest.out_of_core.plan import format_bytes
    >>> format_bytes(2_500_000_000)
    '2.5 GB'
    """
    return f"{size / 1e9:.3g} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
