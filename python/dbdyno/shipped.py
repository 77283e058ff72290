"""Files that are shipped inside the package, and the built-in experiments among them. It imports nothing of dbdyno."""

from importlib import resources
from pathlib import Path

EXPERIMENT_SUFFIX = ".toml"


def package_path(*parts: str) -> Path:
    """Give the path of a file or folder that is shipped inside the package."""
    return Path(str(resources.files("dbdyno").joinpath(*parts)))


def builtin_names() -> list[str]:
    """Name the built-in experiments, in the order of the alphabet."""
    return sorted(path.stem for path in package_path("experiments").glob("*" + EXPERIMENT_SUFFIX))
