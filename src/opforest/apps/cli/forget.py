"""``opforest forget``."""

import re
from bisect import bisect_right
from itertools import islice
from typing import Annotated, Any

from typer import Option

import opforest
from opforest._utils.text import count, join_first
from opforest.apps.cli import models, options
from opforest.apps.cli.job import Job, labels_of
from opforest.apps.cli.lookup import ExampleLookup
from opforest.apps.cli.output import print_notes
from opforest.apps.cli.paths import require_distinct, require_model_path
from opforest.errors import DataFileError

#: Missing ids or lines that an error names.
MAX_NAMED = 5


@options.command("Stopped; the model is unchanged.")
def forget(
    reading: options.ReadOptions,
    model: options.ModelPath,
    ids: Annotated[
        list[str] | None,
        Option(metavar="IDS", help="Ids of examples, such as 3,7 or 10-19. Repeatable."),
    ] = None,
    rows_in: Annotated[
        str | None,
        Option(metavar="DATA", help="A data file: examples equal to its rows are forgotten."),
    ] = None,
    missing_ok: Annotated[bool, Option(help="Skip ids and rows that the model lacks.")] = False,
    out: Annotated[
        str | None, Option("--out", "-o", metavar="MODEL", help="Write another model file.")
    ] = None,
) -> options.Facts:
    """Forget examples: the model becomes exactly the one trained without them.

    The first example that a model has learned has the id 0, the next one 1, and so on; `opforest
    predict --explain` shows ids. With --rows-in, one example is forgotten for each row of DATA, the
    newest of those that are equal to it; if DATA has labels, they must be equal, too.

    Categories, medians and scales that the model has learned from its first file stay in use.

    Example: opforest forget iris.opforest --rows-in wrong.csv -o better.opforest
    """
    if (ids is None) == (rows_in is None):
        raise ValueError("name the examples to forget: either --ids or --rows-in.")
    require_distinct([rows_in, model if out else None], [out or model])
    saved = models.ModelFile(model)
    estimator = models.load_to_update(model)
    classifier = models.classifier_of(estimator)
    if classifier.update != "exact":
        raise ValueError(
            f"{model} was trained with --update {classifier.update}, which cannot forget: train it "
            "again with --update exact."
        )
    if out is not None:
        require_model_path(out)
    if rows_in is None:
        chosen = _choose_ids(classifier, model, ids or [], missing_ok)
    else:
        chosen = _find_rows(Job(estimator, rows_in, reading), model, missing_ok)
    if len(chosen) == len(classifier.forest_):
        raise ValueError(f"these are all examples of {model}: remove the file instead.")
    if chosen:
        estimator.forget(chosen)
    if out is not None:
        opforest.save(estimator, out)
    elif chosen:
        saved.replace(estimator)
    if chosen:
        print_notes(models.note_preparation(estimator, "training without these examples changes"))
    return {"model": out or model, "forgotten": len(chosen), "examples": len(classifier.forest_)}


def _choose_ids(classifier: Any, path: str, texts: list[str], missing_ok: bool) -> list[int]:
    """Return the ids that are named, such as 3,7 or 10-19; all must be known."""
    ranges = _merge([one for text in texts for one in _parse_ids(text)])
    ids = classifier.forest_.ids.tolist()
    known = set(ids)
    begins = [one.start for one in ranges]
    chosen = [id for id in ids if (k := bisect_right(begins, id)) and id in ranges[k - 1]]
    n_missing = sum(one.stop - one.start for one in ranges) - len(chosen)  # len() has a limit
    if n_missing:
        missing = (id for one in ranges for id in one if id not in known)
        shown = join_first(list(islice(missing, MAX_NAMED)), MAX_NAMED, n_missing)
        reason = f"{path} has no example {shown}: forgotten, or never learned"
        _report_missing(reason, missing_ok, bool(chosen))
    return chosen


def _merge(ranges: list[range]) -> list[range]:
    """Return ranges of the same numbers that do not overlap, in order."""
    merged: list[range] = []
    for one in sorted(ranges, key=lambda one: one.start):
        if merged and one.start <= merged[-1].stop:
            merged[-1] = range(merged[-1].start, max(merged[-1].stop, one.stop))
        else:
            merged.append(one)
    return merged


def _find_rows(job: Job, path: str, missing_ok: bool) -> list[int]:
    """Return the ids of the examples that are equal to the rows of a data file."""
    if models.classifier_of(job.model).metric == "precomputed":
        raise ValueError(
            f"{path} was trained with --distances, so it holds no rows to compare: use --ids."
        )
    examples = job.read()
    job.print_dropped()
    if not len(examples):
        raise DataFileError("there are no complete rows", job.path)
    known = ExampleLookup(job.model)
    rows = known.read(examples, job.path)
    labels = None if examples.y is None else labels_of(examples, job.path).tolist()
    found, missing, more = known.find(rows, labels)
    if missing:
        lines = list(map(examples.line_of, missing[:MAX_NAMED]))
        unit = "line" if lines[0] else "row"
        numbers = [line or examples.row_of(i) + 1 for line, i in zip(lines, missing, strict=False)]
        verb, total = "is" if len(missing) == 1 else "are", count(len(rows), "row")
        reason = f"none of the {total} of {job.path} is in {path}"
        if found:
            reason = f"{len(missing):,} of the {total} of {job.path} {verb} not in {path}"
            reason += f" ({unit} {join_first(numbers, MAX_NAMED, len(missing))})"
        _report_missing(reason, missing_ok, bool(found))
    if more:
        verb = "is" if more == 1 else "are"
        print_notes([f"{path} holds {count(more, 'more example')} that {verb} equal to these"])
    return sorted(found)


def _report_missing(reason: str, missing_ok: bool, has_others: bool) -> None:
    """Print what a model lacks as a note, or raise it as an error."""
    if not missing_ok:
        advice = "; --missing-ok forgets the others" if has_others else ""
        raise ValueError(f"{reason}. Nothing was changed{advice}.")
    print_notes([reason])


def _parse_ids(text: str) -> list[range]:
    """Return the ids in a list such as 3,7 or 10-19."""
    found: list[range] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip(), re.ASCII)
        if not match:
            raise ValueError(f"--ids must be whole numbers such as 3,7 or 10-19, got {text!r}.")
        begin, last = int(match[1]), int(match[2] or match[1])
        if last < begin:
            raise ValueError(f"--ids: {part.strip()} must begin with the smaller number.")
        found.append(range(begin, last + 1))
    return found
