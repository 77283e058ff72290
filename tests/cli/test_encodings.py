"""The command line where the terminal's or the locale's encoding knows few characters."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Cli

NARROW = {
    "latin-1": {"PYTHONIOENCODING": "latin-1"},
    "ascii": {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
}


@pytest.mark.parametrize("encoding", NARROW)
def test_what_cannot_be_shown_is_no_error(cli: Cli, small: Callable[..., str], encoding: str) -> None:
    text = small(
        ('"A small table"', '"Größe → 1"'),
        ("[factors]", '[factors]\nwhich = ["t", "größe"]'),
        ("from t where id", "from ${which} where id"),
        ("clients = [1, 2]", "clients = [1]"),
    )
    (cli.directory / "small.toml").write_text(text, encoding="utf-8")

    def narrow(*arguments: str, code: int) -> str:
        command = [Path(sys.executable).parent / "dbdyno", *arguments]
        environment = cli.environment | NARROW[encoding]
        done = subprocess.run(command, cwd=cli.directory, env=environment, capture_output=True, check=False)
        errors = done.stderr.decode(encoding)
        assert done.returncode == code, errors
        assert "Traceback" not in errors
        return done.stdout.decode(encoding) + errors

    kept = ("--store", "runs.db")
    narrow("run", "./small.toml", *kept, "--rounds", "1", "--json", "out.json", code=1)
    # What the worker says is read as it was written, whatever the locale is.
    document = json.loads((cli.directory / "out.json").read_text(encoding="utf-8"))
    assert "größe" in document["failed_trials"][0]["error"]
    known = encoding == "latin-1"
    assert ("such table: größe" if known else "such table: gr??e") in narrow("show", *kept, code=0)
    assert ("Größe ? 1" if known else "Gr??e ? 1") in narrow("describe", "./small.toml", code=0)
    narrow("list", code=0)
    narrow("run", "./größe.toml", *kept, code=2)
    narrow("--help", code=0)
