"""Thresholds of time and memory that tests change, in one place.

They decide how and when work is done, never its result; except for ``max_calibration_examples``,
which is part of the definition of probabilities. Constants of compiled code stay beside it.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Tuning:
    """One set of thresholds."""

    #: The approximate number of features that one call of a kernel reads, so that Ctrl-C is
    #: handled between calls; the most queries in one call, and to a forest in parts; the most
    #: removals in one call.
    work_per_call: int = 200_000_000
    queries_per_call: int = 8192
    queries_per_piece: int = 1 << 20
    removals_per_call: int = 100

    #: Below this number of examples, Prim's algorithm and insertions without an index take
    #: milliseconds and microseconds, and compiling the others would take many seconds.
    few_to_span: int = 8000
    few_to_grow: int = 10_000

    #: From how many points threads share the work on a k-d tree and on duplicates; from how many,
    #: and with about how many in each cell, minimum spanning trees are found by cells.
    few_for_threads: int = 50_000
    many_for_cells: int = 200_000
    points_per_cell: int = 120_000

    #: From how many examples a Dask cluster fits by cells; the most examples in a cell; the
    #: smallest fraction of them that a cell may have so that each thread gets two cells.
    many_for_parts: int = 200_000
    examples_per_part: int = 1_000_000
    smallest_part: float = 1 / 32

    #: Coordinates of this many bytes are fetched about as fast as they are measured.
    fast_cache: int = 2**20

    #: Searches by matrix products: the features of a query, and of all queries, from which they are
    #: worthwhile; queries, and vertices, in a block; vertices that a query is compared with before
    #: it is left to a scan.
    search_matmul_features: int = 24
    search_matmul_work: float = 2**14
    search_block: int = 256
    search_patience: int = 64

    #: Spanning by the sieve: the bytes from which it is worthwhile; points in a block, and points
    #: that it is compared with at once; points in the sample, and neighbors in memory, that the
    #: first tree spans; room for edges that one block finds; edges per point that a round finds
    #: before its other blocks are postponed; pairs per point, and the fraction of all pairs, that
    #: may look promising before estimates are too rough.
    sieve_bytes: int = 2**20
    sieve_block: int = 1024
    sieve_columns: int = 256
    sieve_sample: int = 1024
    sieve_neighbors: int = 256
    sieve_room: int = 2**20
    sieve_found: int = 16
    sieve_patience: int = 64
    sieve_rough: float = 1 / 32

    #: Fits out of core: the most examples in a cell, beyond which caches are too small; bytes of
    #: the coordinates in a piece.
    disk_cell: int = 400_000
    disk_piece: int = 1 << 25

    #: A batch of at least this fraction of the known examples is learned by refitting. So is
    #: forgetting more than this fraction of the rest: a removal takes longer than an insertion.
    #: From this fraction of late labels on, labels are spread over the whole tree again.
    refit_fraction: float = 0.2
    refit_fraction_to_forget: float = 0.02
    spread_fraction: float = 0.02

    #: The number of known examples, evenly spread over the order of arrival, that calibrate.
    max_calibration_examples: int = 1000

    #: Numbers in an array for a block of known examples that the others judge.
    judged_cells: int = 2**22

    #: Above this number of points, the k-d tree of a loaded model is built during the checks.
    many_to_check: int = 10_000

    #: Bytes of a dense block of rows of a sparse matrix.
    sparse_block: int = 1 << 26

    #: A snapshot of a store is taken after this many changes, or when it is closed after this many.
    snapshot_every: int = 1000
    snapshot_at_end: int = 100

    #: Data files: bytes of a block; lines that show the dialect; rows of ARFF that are converted
    #: together; bytes to which a small compressed file may expand.
    csv_block: int = 1 << 23
    csv_lines: int = 1000
    arff_rows: int = 2048
    max_unpacked_bytes: int = 1 << 27

    #: Seconds to wait: for workers of a cluster that has none; for other connections that read a
    #: store; for an answer to a download, and for all of it; before a message about compilation;
    #: between two printed lines about the same phase.
    worker_timeout: float = 30.0
    database_timeout: float = 5.0
    download_timeout: float = 20.0
    download_deadline: float = 600.0
    compile_patience: float = 2.0
    print_interval: float = 2.0

    #: The most bytes of a download; features, summed over grid points, in one call of ``predict``
    #: for a plot; features that distances for the service's regions may compare, about a second's
    #: work; planes that the service remembers for the pages opened last.
    max_download_bytes: int = 1 << 26
    plot_features_per_call: int = 4_000_000
    region_work: float = 5e9
    max_planes: int = 64


#: The thresholds in use.
values = Tuning()
