"""Run clients of package registries with the user's own settings."""

import json
import os
import subprocess
from pathlib import Path

from dbdyno.base.errors import SystemFailed

# Time limit in seconds for fetching a package of a few megabytes.
_TIMEOUT_S = 900.0

# Maximum length of a client's output in a message.
_MAX_OUTPUT_LENGTH = 500


def run_client(command: list[str], package: str, directory: Path, **environment: str) -> str:
    """Run a package client and return its standard output. Raises SystemFailed.

    It runs in ``directory``, which belongs to dbdyno. This way it uses the user's settings, not those of a project in
    the current directory, and can't change that project's files.
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
        raise SystemFailed(f"fetching {package}: `{command[0]}` did not finish within {_TIMEOUT_S:.0f} s") from None
    if done.returncode != 0:
        raise SystemFailed(f"fetching {package}: `{command[0]}` failed: {_complaint(done.stdout, done.stderr)}")
    return done.stdout


def _complaint(out: str, errors: str) -> str:
    """Return a client's error message on one line."""
    try:
        said = str(json.loads(out)["Error"])
    except (ValueError, TypeError, KeyError):
        said = errors.strip() or out.strip() or "nothing"
    return " ".join(said.split())[:_MAX_OUTPUT_LENGTH]
