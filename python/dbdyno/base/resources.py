"""Files that are shipped inside the package, such as the built-in experiments."""

import os
from importlib import resources
from pathlib import Path

EXPERIMENT_SUFFIX = ".toml"


def package_path(*parts: str) -> Path:
    """Return the path of a file or directory that is shipped inside the package."""
    return Path(str(resources.files("dbdyno").joinpath(*parts)))


def library_path(name: str) -> Path | None:
    """Find a library that other programs preload: ``DBDYNO_NAME``, or in this package; ``None``: it isn't installed."""
    named = os.environ.get(f"DBDYNO_{name.upper()}")
    if named:
        return Path(named) if Path(named).is_file() else None
    return next(iter(sorted(package_path("lib").glob(f"{name}.*so"))), None)


def template_names() -> list[str]:
    """Return the names of the templates for new experiments, sorted."""
    return sorted(path.stem for path in _templates().glob("*" + EXPERIMENT_SUFFIX))


def template_path(name: str) -> Path:
    """Return the path of a template."""
    return _templates() / (name + EXPERIMENT_SUFFIX)


def _templates() -> Path:
    return package_path("experiment", "templates")


def builtin_names() -> list[str]:
    """Return the names of the built-in experiments, sorted."""
    return sorted(path.stem for path in package_path("experiments").glob("*" + EXPERIMENT_SUFFIX))
