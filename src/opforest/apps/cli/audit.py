"""``opforest audit``."""

import json as json_format
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

import opforest
from opforest._utils.text import count
from opforest.apps.cli import models, options
from opforest.apps.cli.errors import locate_errors
from opforest.apps.cli.job import Job, labels_of, warn_of_scales
from opforest.apps.cli.lazy_modules import np, table, tables
from opforest.apps.cli.output import (
    format_csv,
    print_json,
    print_notes,
    print_table,
    show_phases,
)
from opforest.apps.cli.paths import require_distinct

if TYPE_CHECKING:
    from opforest.estimators.label_issues import LabelIssues


@options.command()
def audit(
    metric: options.MetricOptions,
    preparation: options.PreparationOptions,
    reading: options.ReadOptions,
    data: Annotated[str, Argument(help="The data file, or a model; - is the standard input.")],
    voters: Annotated[
        Any,  # as options.VotersOption, with another default
        Option(
            parser=options.parse_voters,
            metavar="N|auto",
            help="How many others vote. Default: the voters of the model if it has several; "
            "otherwise the most likely number from 10 on.",
        ),
    ] = None,
    exact: Annotated[bool, Option(help="Refit without each example, which is slow.")] = False,
    top: Annotated[int, Option(min=1, help="The number of examples to print.")] = 20,
    out: Annotated[
        str | None, Option("--out", "-o", help="A file for all of them: .json, otherwise CSV.")
    ] = None,
    jobs: options.JobsOption = None,
    json: options.JsonOption = False,
) -> None:
    """Find labels that are probably wrong.

    Each example is judged by the votes of the others that are nearest in the forest. The most
    suspicious is printed first: its row, counted from 1, its id if the file has ids, its label, the
    label that the others vote for, and the probability of that label. Of a model, the examples are
    named by their ids, which count from 0 in the order of learning.

    --out adds the features of each example, and beside them those of the nearest voters that agree
    and disagree with its label.

    Example: opforest audit iris.csv --label species --out suspects.csv
    """
    require_distinct([data, *metric.files], [out])
    if models.kind_of_model(data) is not None:
        if any(metric) or any(preparation):
            raise ValueError(
                f"{data} is a model, which has a metric and a preparation of its own: leave out "
                "--metric, --metric-param, --encode, --missing and --scale."
            )
        findings = _audit_model(data, voters, exact, jobs)
    else:
        classifier = models.make_classifier(metric, None, jobs).set_params(voters=voters or "auto")
        model = models.add_preparation(classifier, preparation)
        findings = _audit_data(Job(model, data, reading, needs_label=True), exact)
    if out is not None:
        with tables.open_output(out) as stream:
            stream.write(findings.as_file(out).encode())
    if json:
        print_json(findings.as_json(data))
    elif out != "-":
        findings.print(top)


def _audit_model(path: str, voters: int | str | None, exact: bool, jobs: int | None) -> "Findings":
    model = models.load_classifier(path)
    last = models.classifier_of(model)
    models.check_jobs(jobs)
    last.n_jobs = jobs
    if voters is not None:
        last.voters = voters
    return Findings(opforest.find_label_issues(model, exact=exact))


def _audit_data(job: Job, exact: bool) -> "Findings":
    with show_phases() as begin_phase:
        begin_phase("reading")
        everything = tables.read_table(job.path, job.reading)
        complete = job.find_complete(everything)
        examples = job.drop_incomplete(everything)
        y = labels_of(examples, job.path)
        begin_phase("preparing")
        job.fit(examples, y)
        warn_of_scales(job.model, examples, "--scale standard")
        begin_phase("votes")
        with locate_errors(job.path, examples):
            issues = opforest.find_label_issues(job.model, exact=exact)
    job.print_dropped()
    row = np.arange(len(everything)) if complete is None else np.flatnonzero(complete)
    return Findings(issues, row + 1, examples)


class Findings:
    """Label issues, and the rows of a data file that they are about, if there is one."""

    def __init__(
        self, issues: "LabelIssues", row: Any = None, examples: "table.Data | None" = None
    ) -> None:
        self.issues, self._row, self._examples = issues, row, examples

    def _row_of(self, id: int | None) -> int | None:
        """Return the row of an example, counted from 1; for a model, its id."""
        return id if id is None or self._row is None else int(self._row[id])

    def _names(self) -> dict[str, list[Any]]:
        """Return the columns that name the examples."""
        rows = [self._row_of(one.id) for one in self.issues]
        if self._examples is None:
            return {"id": rows}
        ids = self._examples.ids
        if ids is None:
            return {"row": rows}
        return {"row": rows, "id": [ids[one.id].item() for one in self.issues]}

    def print(self, top: int) -> None:
        """Print the most suspicious examples, and how many there are."""
        columns = self._names() | {
            "label": [str(one.label) for one in self.issues],
            "suggested": [str(one.suggested) for one in self.issues],
            "probability": [f"{one.probability:.3f}" for one in self.issues],
        }
        rows = list(zip(*columns.values(), strict=True))
        if rows:
            print_table(list(columns), rows[:top])
        more = f"; --top {len(rows)} prints all" if len(rows) > top else ""
        verb, n_voters = "is" if len(rows) == 1 else "are", self.issues.n_voters
        print_notes([
            f"{len(rows):,} of {count(self.issues.n_judged, 'label')} {verb} probably wrong, by "
            f"the {'vote' if n_voters == 1 else 'votes'} of {count(n_voters, 'other')}{more}"
        ])  # fmt: skip

    def as_json(self, path: str) -> dict[str, Any]:
        """Return all examples, and their voters, as JSON has them."""
        records = []
        names, place = self._names(), "id" if self._row is None else "row"
        for i, one in enumerate(self.issues):
            record = {name: column[i] for name, column in names.items()}
            for name in ("label", "suggested", "probability", "given_probability"):
                record[name] = getattr(one, name)
            record["voters"] = [
                {place: self._row_of(voter.id), "label": voter.label, "offer": voter.offer,
                 "weight": voter.weight}
                for voter in one.voters
            ]  # fmt: skip
            records.append(record)
        return {
            "file": path,
            "judged": self.issues.n_judged,
            "voters": self.issues.n_voters,
            "issues": records,
        }

    def as_file(self, path: str) -> str:
        """Return all examples as JSON or CSV, depending on the name of a file."""
        if path.lower().endswith(".json"):
            return json_format.dumps(self.as_json(path)["issues"], ensure_ascii=False) + "\n"
        examples = self._examples
        if examples is None:
            columns = self.issues.columns()
        else:
            features = examples.feature_names
            columns = self.issues.columns(examples.X, features and list(features))
        columns.pop("id")
        for name in ("agreeing", "disagreeing"):
            columns[name] = [self._row_of(id) for id in columns[name]]
        return format_csv(self._names() | columns)
