"""The version of dbdyno."""

import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PROJECT = Path(__file__).parents[3] / "pyproject.toml"


def own_version() -> str:
    """Return the version of the installed package, or of the source tree that contains this file.

    Raises PackageNotFoundError if dbdyno is not installed and this is not a source tree.
    """
    try:
        return version("dbdyno")
    except PackageNotFoundError:
        if not _PROJECT.is_file():
            raise
        stated: str = tomllib.loads(_PROJECT.read_text())["project"]["version"]
        return stated
