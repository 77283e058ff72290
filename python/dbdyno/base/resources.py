"""Files that are shipped inside the package, and the built-in experiments among them. It imports nothing of dbdyno."""

from importlib import resources
from pathlib import Path

EXPERIMENT_SUFFIX = ".toml"


def package_path(*parts: str) -> Path:
    """Give the path of a file or folder that is shipped inside the package."""
    return Path(str(resources.files("dbdyno").joinpath(*parts)))


def template_names() -> list[str]:
    """Name the templates that experiments begin with, in the order of the alphabet."""
    return sorted(path.stem for path in _templates().glob("*" + EXPERIMENT_SUFFIX))


def template_path(name: str) -> Path:
    """Give the path of a template."""
    return _templates() / (name + EXPERIMENT_SUFFIX)


def _templates() -> Path:
    return package_path("experiment", "templates")


def builtin_names() -> list[str]:
    """Name the built-in experiments, in the order of the alphabet."""
    return sorted(path.stem for path in package_path("experiments").glob("*" + EXPERIMENT_SUFFIX))
