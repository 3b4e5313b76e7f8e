"""Write NUMBERS.md, the table of all measured numbers, from the JSON files in results/."""

import json
from pathlib import Path
from typing import Any

from benchmarks.common import HERE, RESULTS, Row

TITLE = """# All measured numbers

`python -m benchmarks.numbers_table` generates this file from `benchmarks/results/*.json`, which
the scripts write. Do not edit it. `README.md` says which pages show which numbers.
"""


def describe(path: Path) -> str:
    """Return the section of one JSON file."""
    record = json.loads(path.read_text(encoding="utf-8"))
    (script,) = HERE.glob(f"*/{path.stem}.py")
    versions = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    lines = [
        f"## `benchmarks/{script.parent.name}/{script.name}`",
        "",
        record["title"],
        "",
        "| case | result | bar | |",
        "|---|---|---|---|",
        *(describe_row(row) for row in record["rows"]),
        "",
        f"{record['time'][:10]}; {record['machine']['processor']}; {versions}.",
    ]
    return "\n".join(lines)


def describe_row(fields: dict[str, Any]) -> str:
    """Return the line of one result."""
    row = Row(**{name: value for name, value in fields.items() if name != "verdict"})
    case, result, bar, verdict, _ = row.cells([])
    cells = (case, result, bar, verdict)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def generate() -> str:
    """Return the whole file."""
    sections = [describe(path) for path in sorted(RESULTS.glob("*.json"))]
    return "\n\n".join([TITLE.rstrip(), *sections]) + "\n"


def write() -> None:
    """Write the file."""
    (HERE / "NUMBERS.md").write_text(generate(), encoding="utf-8")


if __name__ == "__main__":
    write()
