"""Which dbdyno this is."""

import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PROJECT = Path(__file__).parents[3] / "pyproject.toml"


def own_version() -> str:
    """Give dbdyno's version: of what is installed, or of the source tree that this file lies in.

    Raises PackageNotFoundError where it is neither.
    """
    try:
        return version("dbdyno")
    except PackageNotFoundError:
        if not _PROJECT.is_file():
            raise
        stated: str = tomllib.loads(_PROJECT.read_text())["project"]["version"]
        return stated
