"""Fetch packages that contain SQLite's source with their own clients and the user's settings, and cache them."""

import json
import re
import shutil
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dbdyno.base.errors import InputError, SystemFailed
from dbdyno.engines.packages import run_client
from dbdyno.engines.sqlite.amalgamation import (
    amalgamation_files,
    find_amalgamation,
    keep,
    kept,
    sources_directory,
    unfinished_directory,
)

_PACKAGE_VERSION = re.compile(r"v?\d+(?:\.\d+)+(?:[-+][0-9A-Za-z.-]+)?")


@dataclass(frozen=True)
class Family:
    """All versions of a package. ``key``: its name in specs; ``name``: its name in messages; ``client``: a program.

    ``fetch`` returns a directory with the content of a version of the package: one that it creates within the given
    directory, or one in the client's cache, which must not be changed.
    """

    key: str
    name: str
    client: str
    fetch: Callable[[str, Path], Path]

    def client_is_installed(self) -> bool:
        """Whether the program that fetches the package is installed."""
        return shutil.which(self.client) is not None


def package_source(family: Family, version: str) -> Path:
    """Return the directory with the ``sqlite3.c`` of a version of a package, fetching it if it isn't cached.

    Raises InputError for an invalid version, and SystemFailed if the client isn't installed or fails, or if the package
    doesn't contain SQLite's source.
    """
    if not _PACKAGE_VERSION.fullmatch(version):
        raise InputError(f"{family.key}@{version}", "not a package version", f"write `{family.key}@1.2.3`")
    if family.key == "go" and not version.startswith("v"):
        version = f"v{version}"
    directory = kept(_cached_name(family, version))
    if directory.is_dir():
        return directory
    if not family.client_is_installed():
        problem = f"fetching {family.name} {version} needs `{family.client}`, which isn't installed"
        raise SystemFailed(f"{problem}: install it, or give a directory with a `sqlite3.c`")
    with unfinished_directory() as scratch:
        content = family.fetch(version, Path(scratch))
        source = find_amalgamation(content)
        if source is None:
            raise SystemFailed(f"{family.name} {version} doesn't contain SQLite's source: choose another version")
        return keep(amalgamation_files(source), _cached_name(family, version))


def cached_packages() -> Iterator[tuple[Family, str, Path]]:
    """Yield the cached packages: family, version, and the directory with the ``sqlite3.c``."""
    for family in FAMILIES:
        prefix = _cached_name(family, "")
        for directory in sorted(sources_directory().glob(f"{prefix}*")):
            if (directory / "sqlite3.c").is_file():
                yield family, directory.name.removeprefix(prefix), directory


def _cached_name(family: Family, version: str) -> str:
    return f"{family.key}-{version}"


def _from_npm(name: str, version: str, scratch: Path) -> Path:
    """Fetch with npm. The package contains SQLite's source in its directory `deps`, as an archive or as files."""
    package = f"{name}@{version}"
    run_client(["npm", "pack", package, "--ignore-scripts", "--loglevel=error"], package, scratch)
    content = scratch / "content"
    content.mkdir()
    try:
        for path in scratch.glob("*.tgz"):
            with tarfile.open(path) as package_file:
                _take(package_file, content, "package/deps/(?:sqlite3/)?")
                for member in package_file:
                    if re.search(r"/deps/sqlite[^/]*\.tar\.[a-z0-9]+$", member.name) and member.isfile():
                        with tarfile.open(fileobj=package_file.extractfile(member)) as archive:
                            _take(archive, content, r"(?:\./)?(?:[^/]+/)?")
    except (tarfile.TarError, OSError, EOFError) as error:
        raise SystemFailed(f"can't unpack {package}: {error}") from error
    return content


def _take(archive: tarfile.TarFile, directory: Path, within: str) -> None:
    """Extract the source files ``within`` a directory, by file name only, so that no path leaves ``directory``."""
    for member in archive:
        if member.isfile() and re.fullmatch(rf"{within}sqlite3(?:ext)?\.[ch]", member.name):
            content = archive.extractfile(member)
            if content is not None:
                with content, (directory / Path(member.name).name).open("wb") as file:
                    shutil.copyfileobj(content, file)


def _from_go(version: str, scratch: Path) -> Path:
    """Fetch with go into its own module cache."""
    module = f"github.com/mattn/go-sqlite3@{version}"
    said = run_client(["go", "mod", "download", "-json", module], module, scratch, GOWORK="off", GO111MODULE="on")
    return Path(json.loads(said)["Dir"])


def _from_cargo(version: str, scratch: Path) -> Path:
    """Fetch with cargo into its own registry cache, as a dependency of a package that is never built."""
    package = f"libsqlite3-sys {version}"
    (scratch / "src").mkdir()
    (scratch / "src/lib.rs").touch()
    (scratch / "Cargo.toml").write_text(
        '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n\n[workspace]\n\n[dependencies]\n'
        f'libsqlite3-sys = "={version}"\n',
        encoding="utf-8",
    )
    said = run_client(["cargo", "metadata", "--format-version", "1", "--quiet"], package, scratch)
    packages = json.loads(said)["packages"]
    return next(Path(each["manifest_path"]).parent for each in packages if each["name"] == "libsqlite3-sys")


# In order of preference: npm's package contains SQLite's original archive, Go's adds a condition to the source.
FAMILIES = (
    Family("npm", "npm sqlite3", "npm", partial(_from_npm, "sqlite3")),
    Family("go", "go-sqlite3", "go", _from_go),
    Family("crate", "crate libsqlite3-sys", "cargo", _from_cargo),
    Family("better", "npm better-sqlite3", "npm", partial(_from_npm, "better-sqlite3")),
)
