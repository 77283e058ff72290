"""The clients of package registries, with the user's own settings."""

import json
import os
import subprocess
from pathlib import Path

from dbdyno.base.errors import SystemFailed

# Seconds that a client has to fetch a package of some megabytes.
_TIMEOUT_S = 900.0

# Characters of a client's own words that a message repeats.
_LONGEST = 500


def run_client(command: list[str], package: str, directory: Path, **environment: str) -> str:
    """Run a package's client and give what it says. Raises SystemFailed.

    It runs in a directory of ours: the settings that hold are the user's, not those of a project they happen to be in,
    whose files no client is to change.
    """
    try:
        done = subprocess.run(
            command,
            cwd=directory,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            timeout=_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        raise SystemFailed(f"fetching {package}: `{command[0]}` did not end within {_TIMEOUT_S:.0f} s") from None
    if done.returncode != 0:
        raise SystemFailed(f"fetching {package} failed: `{command[0]}` said: {_complaint(done.stdout, done.stderr)}")
    return done.stdout


def _complaint(out: str, errors: str) -> str:
    """Give what a client said of its failure, on one line."""
    try:
        said = str(json.loads(out)["Error"])
    except (ValueError, TypeError, KeyError):
        said = errors.strip() or out.strip() or "nothing"
    return " ".join(said.split())[:_LONGEST]
