"""``opforest distance``: the distances between all examples."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from opforest.apps.cli import options
from opforest.apps.cli.apart import keep_apart
from opforest.apps.cli.errors import locate_errors, say_errors

if TYPE_CHECKING:
    from opforest.core.metrics.metric import Metric


@options.reads_data
def distance(
    data: options.DataFile,
    out: Annotated[
        str,
        typer.Argument(metavar="OUT", help="a LibOPF file of distances, or a table if .npy, .csv"),
    ],
    metric: options.MetricOption = None,
    metric_param: options.ParamOption = None,
    how: options.How = options.FOUND_OUT,
    json: options.JsonOption = False,
) -> None:
    """Measure all pairs of examples, in the order of the file.

    LibOPF's files hold numbers of 32 bits, to which distances are rounded.

    Example: opforest distance iris.csv distances.dat --metric manhattan
    """
    with say_errors():
        keep_apart([data], [out])
        import numpy as np

        from opforest.apps.cli.output import print_facts, print_notes
        from opforest.core.metrics.registry import resolve
        from opforest.io import libopf
        from opforest.io.columns.table import Data
        from opforest.io.source import STANDARD
        from opforest.io.tables import format_of, read_table, write_table

        reading = how.reading(remedy="")
        measured_by = resolve(metric or "euclidean", options.parse_params(metric_param))
        if measured_by.is_precomputed:
            raise ValueError("metric 'precomputed' measures nothing; name another one.")
        examples = read_table(data, reading)
        print_notes(examples.notes)
        with locate_errors(data):
            table = _measure(examples.X, measured_by)
        if out != STANDARD and format_of(out) in (None, "libopf"):
            libopf.write_distances(out, table.astype(np.float32))
        else:
            write_table(out, Data(table))
        if out != STANDARD:
            print_facts({"file": out, "examples": len(table), "metric": measured_by.name}, json)


def _measure(X: Any, metric: "Metric") -> Any:
    """Return the table of distances, in the metric's own units."""
    import numpy as np

    from opforest.core.jit import specialize
    from opforest.core.metrics.distances import measure_block
    from opforest.core.mst.prim import WORK_PER_CALL

    rows = metric.training_rows(metric.embed(X))
    measure = specialize(measure_block, metric.kernel)
    step = max(1, WORK_PER_CALL // rows.size)  # so that Ctrl-C is heard
    blocks = [measure(rows, begin, min(begin + step, len(rows)), metric.kernel)
              for begin in range(0, len(rows), step)]  # fmt: skip
    table = np.concatenate(blocks)
    metric.check_defined(table.ravel(), lambda k: f"rows {k // len(X) + 1} and {k % len(X) + 1}")
    return metric.to_units(table, X.shape[1])
