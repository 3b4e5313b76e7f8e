"""Run commands in this process."""

import json
import re

from typer.testing import CliRunner

from opforest.apps.cli.main import make_app


def run(*arguments, code=0, stdin=None):
    result = CliRunner().invoke(make_app(), [str(a) for a in arguments], input=stdin)
    assert result.exit_code == code, (result.output, result.exception)
    if code in (2, 3, 4, 5) and "Usage" not in result.stderr:
        notes = r"(opforest: (note|warning): [^\n]+\n)*"  # before the error
        assert re.fullmatch(notes + r"opforest: error: [^\n]+\n", result.stderr)
        assert result.stdout == ""
    return result


def run_json(*arguments, **more):
    return json.loads(run(*arguments, "--json", **more).stdout)
