"""Find the programs of servers, their versions, and which programs belong together."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from dbdyno.engines.server.environment import environment

# Time limit in seconds for a program to print its version.
_VERSION_S = 10.0


@dataclass(frozen=True)
class Installation:
    """A server's programs.

    ``product``: such as PostgreSQL or MariaDB; ``version``: such as ``15.8``. ``programs``: paths by name, the server
    first, then the programs that it requires, and a client if one is installed.
    """

    engine: str
    product: str
    version: str
    programs: Mapping[str, Path]

    @property
    def title(self) -> str:
        """Product and version."""
        return f"{self.product} {self.version}"

    @property
    def server(self) -> Path:
        """The server's own program."""
        return next(iter(self.programs.values()))


def on_path() -> list[Path]:
    """Return the absolute directories of the PATH."""
    return [Path(directory) for directory in os.get_exec_path() if Path(directory).is_absolute()]


def programs_in(places: list[Path], name: str) -> Iterator[Path]:
    """Find the programs of a name in directories, in their order."""
    for directory in places:
        path = directory / name
        try:
            if path.is_file() and os.access(path, os.X_OK):
                yield path
        except OSError:
            continue


def complete(
    engine: str, product: str, version: str | None, programs: Mapping[str, Path], needed: tuple[str, ...]
) -> Installation | None:
    """Return an installation; ``None`` if its version is unknown or a ``needed`` program is missing."""
    existing = {name: path for name, path in programs.items() if os.access(path, os.X_OK)}
    if version is None or any(name not in existing for name in needed):
        return None
    return Installation(engine, product, version, existing)


def beside(home: Path, *names: str) -> Path:
    """Find a program in the installation of a server's directory, or on the PATH."""
    for name in names:
        for directory in (home, home.parent / "bin", home.parent / "scripts"):
            if os.access(directory / name, os.X_OK):
                return directory / name
    return Path(shutil.which(names[0]) or home / names[0])


def version_of(pattern: re.Pattern[str], *command: str | Path) -> str | None:
    """Run a command and return the ``version`` that a pattern finds in its output; ``None`` if there is none."""
    try:
        done = subprocess.run(
            command,
            env=environment(),
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            timeout=_VERSION_S,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    match = pattern.search(done.stdout) if done.returncode == 0 else None
    return match["version"] if match is not None else None
