"""Run the paper's experiment and write a report: ``python -m opforest.apps.reproduce``."""

import argparse
import sys
from collections.abc import Sequence

from opforest.apps.reproduce.command import reproduce
from opforest.apps.reproduce.options import DEFAULT_JOBS, HELP


def main(argv: Sequence[str] | None = None) -> None:
    """Run the experiment; ``argv`` are the arguments of the command line."""
    parser = argparse.ArgumentParser(prog="python -m opforest.apps.reproduce", description=__doc__)
    parser.add_argument("--datasets", metavar="A,B", help=HELP["datasets"])
    parser.add_argument("--methods", metavar="A,B", help=HELP["methods"])
    parser.add_argument("--repeats", type=int, metavar="N", help=HELP["repeats"])
    parser.add_argument("--seed", type=int, default=0, metavar="N", help=HELP["seed"])
    parser.add_argument("--jobs", type=int, default=DEFAULT_JOBS, metavar="N", help=HELP["jobs"])
    parser.add_argument("--out", default="results", metavar="DIR", help=HELP["out"])
    parser.add_argument("--data-home", metavar="DIR", help=HELP["data_home"])
    parser.add_argument("--quick", action="store_true", help=HELP["quick"])
    parser.add_argument("--report-only", action="store_true", help=HELP["report_only"])
    options = parser.parse_args(argv)
    try:
        print(reproduce(**vars(options)))
    except (ValueError, ImportError, OSError) as error:
        parser.exit(2, f"{parser.prog}: error: {error}\n")
    except KeyboardInterrupt:
        parser.exit(130, "Stopped; the same command goes on from here.\n")


if __name__ == "__main__":
    main(sys.argv[1:])
