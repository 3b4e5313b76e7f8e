"""``opforest distance``: the distances between all examples."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from opforest.apps.cli import options
from opforest.apps.cli.errors import locate_errors
from opforest.apps.cli.output import print_facts, print_notes
from opforest.apps.cli.paths import require_distinct

if TYPE_CHECKING:
    from opforest.core.metrics.metric import Metric
    from opforest.io.columns.table import ReadOptions


@options.command()
def distance(
    data: options.DataFile,
    out: Annotated[
        str,
        typer.Argument(
            metavar="OUT", help="The file to write: LibOPF's distances, or a table if .npy or .csv."
        ),
    ],
    metric: options.MetricOption = None,
    metric_param: options.ParamOption = None,
    json: options.JsonOption = False,
    *,
    reading: "ReadOptions",
) -> None:
    """Measure the distances between all examples, in the order of the file.

    LibOPF's files hold 32-bit numbers, to which distances are rounded.

    Example: opforest distance iris.csv distances.dat --metric manhattan
    """
    import numpy as np

    from opforest.core.metrics.registry import resolve
    from opforest.io import libopf
    from opforest.io.columns.table import Data
    from opforest.io.source import STANDARD
    from opforest.io.tables import format_of, read_table, write_table

    require_distinct([data], [out])
    chosen = resolve(metric or "euclidean", options.parse_params(metric_param))
    if chosen.is_precomputed:
        raise ValueError("metric 'precomputed' measures nothing; name another one.")
    examples = read_table(data, replace(reading, remedy=""))
    print_notes(examples.notes)
    with locate_errors(data):
        table = _measure(examples.X, chosen)
    if out != STANDARD and format_of(out) in (None, "libopf"):
        libopf.write_distances(out, table.astype(np.float32))
    else:
        write_table(out, Data(table))
    if out != STANDARD:
        print_facts({"file": out, "examples": len(table), "metric": chosen.name}, json)


def _measure(X: Any, metric: "Metric") -> Any:
    """Return the matrix of distances, in the metric's own units."""
    import numpy as np

    from opforest.core.jit import specialize
    from opforest.core.metrics.distances import measure_block
    from opforest.core.mst.prim import WORK_PER_CALL

    rows = metric.training_rows(metric.embed(X))
    measure = specialize(measure_block, metric.kernel)
    step = max(1, WORK_PER_CALL // rows.size)  # so that Ctrl-C is handled in time
    blocks = [measure(rows, begin, min(begin + step, len(rows)), metric.kernel)
              for begin in range(0, len(rows), step)]  # fmt: skip
    table = np.concatenate(blocks)
    metric.check_defined(table.ravel(), lambda k: f"rows {k // len(X) + 1} and {k % len(X) + 1}")
    return metric.to_units(table, X.shape[1])
