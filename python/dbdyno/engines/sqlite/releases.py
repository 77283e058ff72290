"""The known source packages of SQLite releases, and their directories."""

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from dbdyno.base.errors import InputError
from dbdyno.base.paths import expand_user
from dbdyno.engines.sqlite.amalgamation import find_amalgamation, keep_by_content, source_version
from dbdyno.engines.sqlite.packages import FAMILIES, Family, cached_packages, package_source
from dbdyno.runtime.worker import write_amalgamation

BUNDLED = "bundled"
DIRECTORY = "directory"

# Package versions and the SQLite version of the source that each contains.
_KNOWN = {
    "npm": (
        "2.1.1 3.7.8, 2.1.8 3.7.17, 2.2.4 3.8.5, 3.0.6 3.8.9, 3.1.1 3.9.1, 4.0.0 3.15.0, 4.0.1 3.24.0, 4.0.6 3.26.0, "
        "4.0.8 3.28.0, 4.1.1 3.30.1, 4.2.0 3.31.1, 5.0.2 3.34.0, 5.0.7 3.38.4, 5.1.3 3.40.0, 5.1.7 3.44.2, "
        "6.0.1 3.52.0"
    ),
    "go": (
        "v1.1.0 3.8.5, v1.2.0 3.15.1, v1.6.0 3.21.0, v1.9.0 3.24.0, v1.10.0 3.25.2, v1.11.0 3.29.0, v1.14.0 3.32.2, "
        "v1.14.7 3.35.4, v1.14.16 3.39.4, v1.14.17 3.42.0, v1.14.22 3.45.1, v1.14.24 3.46.1, v1.14.28 3.49.1, "
        "v1.14.52 3.53.4"
    ),
    "crate": ("0.9.0 3.17.0, 0.14.0 3.27.2, 0.22.0 3.35.4, 0.26.0 3.41.2, 0.30.0 3.46.0, 0.35.0 3.50.2, 0.39.1 3.54.1"),
    "better": (
        "5.4.3 3.29.0, 6.0.1 3.31.1, 7.1.5 3.35.2, 7.4.3 3.36.0, 7.4.6 3.37.0, 7.5.1 3.38.2, 7.6.0 3.39.0, "
        "7.6.2 3.39.1, 8.0.0 3.40.0, 8.1.0 3.40.1, 8.2.0 3.41.0, 8.3.0 3.41.2, 8.4.0 3.42.0, 8.6.0 3.43.0, "
        "8.7.0 3.43.1, 9.0.0 3.43.2, 9.1.1 3.44.0, 9.2.2 3.44.2, 9.4.3 3.45.1, 10.0.0 3.45.3, 11.0.0 3.46.0, "
        "11.3.0 3.46.1, 11.5.0 3.47.0, 11.6.0 3.47.1, 11.7.0 3.47.2, 11.8.1 3.48.0, 11.9.1 3.49.1, "
        "12.0.0 3.49.2, 12.2.0 3.50.2, 12.4.1 3.50.4, 12.5.0 3.51.1, 12.6.2 3.51.2, 12.8.0 3.51.3"
    ),
}

_NUMBERS = re.compile(r"\d+(?:\.\d+)+")
_SPEC = re.compile(r"(?:(?P<family>[a-z]+)(?P<sign>[:@]))?(?P<version>v?\d+(?:\.\d+)+[0-9A-Za-z.+-]*)")


@dataclass(frozen=True)
class Release:
    """A SQLite release in a package. ``version``: SQLite's version; ``package``: the package's version.

    For a ``cached`` package, ``version`` is read from the source; ``listed`` is the version in dbdyno's list.
    """

    version: str
    family: Family
    package: str
    cached: bool
    listed: str = ""

    @property
    def spec(self) -> str:
        """Its specification for :func:`release_source`."""
        return f"{self.family.key}:{self.version}" if self.listed else f"{self.family.key}@{self.package}"


@dataclass(frozen=True)
class SqliteSource:
    """The source of a SQLite library. ``directory`` contains ``sqlite3.c``, and ``sqlite3.h`` if available.

    ``version``: read from the source; ``family``: its origin, such as ``npm sqlite3``, ``go-sqlite3``,
    ``crate libsqlite3-sys``, ``directory`` or ``bundled``; ``package``: the package's version, empty if it isn't from a
    package; ``asked``: the requested version, if any.
    """

    directory: Path
    version: str
    family: str
    package: str = ""
    asked: str = ""

    @property
    def title(self) -> str:
        """Its origin and the package's version."""
        return f"{self.family} {self.package}".rstrip()

    @property
    def difference(self) -> str | None:
        """A message if the source has another version than requested; ``None`` otherwise."""
        if not self.asked or version_numbers(self.asked) == version_numbers(self.version):
            return None
        return f"SQLite {self.asked} was requested, but {self.title} contains {self.version}"


def known_releases() -> list[Release]:
    """Return the releases in known and cached packages, oldest first."""
    found = {
        (family.key, package): Release(version, family, package, cached=False, listed=version)
        for family in FAMILIES
        for package, version in (each.split() for each in _KNOWN[family.key].split(", "))
    }
    for family, package, directory in cached_packages():
        version = source_version(directory / "sqlite3.c")
        listed = found[family.key, package].listed if (family.key, package) in found else ""
        found[family.key, package] = Release(version, family, package, cached=True, listed=listed)
    order = [family.key for family in FAMILIES]
    return sorted(
        found.values(), key=lambda release: (version_numbers(release.version), order.index(release.family.key))
    )


def release_source(spec: str) -> SqliteSource:
    """Return the source for a specification, fetching its package if it isn't cached.

    ``3.21.0``: a release, from the first family that has it cached or whose client is installed; ``go:3.21.0``: a
    release from this family; ``go@v1.6.0``: a version of the package; ``bundled``: dbdyno's own source; otherwise the
    path of an amalgamation or of its directory. Raises InputError for an unknown specification, and SystemFailed if
    fetching fails.
    """
    if spec == BUNDLED:
        return _bundled()
    match = _SPEC.fullmatch(spec)
    if match is None:
        return _from_path(spec)
    key, version = match["family"], match["version"]
    families = [family for family in FAMILIES if key in (None, family.key)]
    if not families:
        known = ", ".join(f"`{family.key}:`" for family in FAMILIES)
        raise InputError(spec, f"unknown package family `{key}`", f"known: {known}")
    if match["sign"] == "@":
        return _from_package(families[0], version, asked="")
    release = _choose(spec, version, families)
    return _from_package(release.family, release.package, asked=version)


def _choose(spec: str, version: str, families: list[Family]) -> Release:
    known = [release for release in known_releases() if release.family in families]
    exact = [release for release in known if version_numbers(release.version) == version_numbers(version)]
    # Also accept the listed version of a package whose source turned out to have another version.
    exact = exact or [release for release in known if version_numbers(release.listed) == version_numbers(version)]
    if not exact:
        below = [release for release in known if version_numbers(release.version) < version_numbers(version)][-1:]
        above = [release for release in known if version_numbers(release.version) > version_numbers(version)][:1]
        near = " and ".join(f"`{release.spec}`" for release in below + above)
        hint = f"the nearest known: {near}; or give the directory of its source"
        raise InputError(spec, f"no known package contains SQLite {version}", hint)
    return next((release for release in exact if release.cached or release.family.client_is_installed()), exact[0])


def _from_package(family: Family, package: str, asked: str) -> SqliteSource:
    directory = package_source(family, package)
    version = source_version(directory / "sqlite3.c")
    return SqliteSource(directory, version, family.name, package, asked)


def _from_path(spec: str) -> SqliteSource:
    path = expand_user(spec, "source")
    file = find_amalgamation(path) if path.is_dir() else path
    if file is None or not file.is_file():
        problem = "neither a release nor a file"
        if path.is_dir():
            problem = "it doesn't contain a `sqlite3.c` with a version (`#define SQLITE_VERSION`)"
        hint = "give a release such as `3.21.0`, or an amalgamation's path; `dbdyno sqlite versions` lists releases"
        raise InputError(spec, problem, hint)
    version = source_version(file)
    directory = file.parent.resolve() if file.name == "sqlite3.c" else keep_by_content(file)
    return SqliteSource(directory, version, DIRECTORY)


def _bundled() -> SqliteSource:
    with tempfile.TemporaryDirectory(prefix="dbdyno-") as scratch:
        write_amalgamation(Path(scratch))
        directory = keep_by_content(Path(scratch) / "sqlite3.c")
    return SqliteSource(directory, source_version(directory / "sqlite3.c"), BUNDLED)


def version_numbers(version: str) -> tuple[int, ...]:
    """Return a version's numbers for comparison; `3.21` equals `3.21.0`."""
    match = _NUMBERS.search(version)
    numbers = [int(each) for each in match[0].split(".")] if match else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
