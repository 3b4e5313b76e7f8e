"""Run all benchmarks one after another and summarize them."""

import json
import subprocess
import sys

from benchmarks.common import HERE, RESULTS, Row, print_table

SCRIPTS = (
    "speed.fit", "speed.fit_features", "speed.large_fit", "speed.predict", "speed.voters",
    "speed.insertion", "speed.indexed",
    "speed.unkind", "speed.forgetting", "speed.streams", "quality.probabilities", "speed.memory",
    "speed.start", "speed.scaling", "speed.out_of_core", "speed.reading",
    "speed.learner", "speed.family",
)  # fmt: skip


def run(script: str) -> list[Row]:
    """Run one script and return the rows of its JSON file, without the times."""
    name = script.rpartition(".")[2]
    record = RESULTS / f"{name}.json"
    record.unlink(missing_ok=True)
    print(f"── {name} ".ljust(80, "─"), flush=True)
    subprocess.run([sys.executable, "-m", f"benchmarks.{script}"], cwd=HERE.parent, check=False)
    print(flush=True)
    if not record.exists():
        return [Row(name, 0, "", bar=1, note="did not finish")]
    rows = json.loads(record.read_text(encoding="utf-8"))["rows"]
    fields = ("value", "unit", "bar", "sense", "note")
    return [Row(f"{name}: {row['case']}", **{key: row[key] for key in fields}) for row in rows]


def main() -> None:
    rows = [row for script in SCRIPTS for row in run(script) if row.bar is not None]
    print("── summary ".ljust(80, "─"))
    print_table(rows)
    verdicts = [row.verdict for row in rows]
    counts = {verdict: verdicts.count(verdict) for verdict in ("pass", "FAIL", "skipped")}
    print("\n" + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    sys.exit(counts["FAIL"] > 0)


if __name__ == "__main__":
    main()
