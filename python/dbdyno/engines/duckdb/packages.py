"""Fetch the library that DuckDB's developers publish for Node.js with the user's npm client."""

import json
import platform
import re
import secrets
import shutil
import tarfile
import tempfile
from pathlib import Path

from dbdyno.base.errors import InputError, SystemFailed
from dbdyno.engines.duckdb.library import NAME, fetched, identity
from dbdyno.engines.packages import run_client

#: The release that dbdyno is tested with.
TESTED = "1.5.6"

_PACKAGES = {
    ("Linux", "x86_64"): "@duckdb/node-bindings-linux-x64",
    ("Linux", "aarch64"): "@duckdb/node-bindings-linux-arm64",
}


def get_library(version: str) -> Path:
    """Return the path of a release's library, fetching it if it isn't cached.

    Raises InputError for an invalid release, and SystemFailed if npm isn't installed or fails.
    """
    if not re.fullmatch(r"\d+\.\d+\.\d+(?:-[a-z]+\.\d+)?", version):
        raise InputError(version, "not a DuckDB release", f"write e.g. `{TESTED}`")
    cached = sorted(fetched().glob(f"{version}*/{NAME}"))
    if cached:
        return cached[-1]
    machine = (platform.system(), platform.machine())
    if machine not in _PACKAGES:
        raise SystemFailed(f"no package for {' on '.join(machine)} exists: build {NAME}, and name it with `library=`")
    if shutil.which("npm") is None:
        raise SystemFailed(f"fetching {NAME} needs `npm`, which isn't installed: install it, or use `library=`")
    package = _PACKAGES[machine]
    fetched().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".get-", dir=fetched()) as scratch:
        full = _published(package, version, Path(scratch))
        return _unpacked(package, full, Path(scratch))


def _published(package: str, version: str, scratch: Path) -> str:
    """Return the newest package version of a release; its suffix numbers the packages of the same release."""
    said = json.loads(run_client(["npm", "view", package, "versions", "--json"], package, scratch))
    known = [said] if isinstance(said, str) else [str(each) for each in said]
    fitting = [each for each in known if each == version or each.startswith(f"{version}-")]
    if not fitting:
        releases = list(dict.fromkeys(each.partition("-")[0] for each in known))
        raise InputError(version, f"{package} doesn't have this version", f"known: {', '.join(releases[-8:])}")
    return fitting[-1]


def _unpacked(package: str, version: str, scratch: Path) -> Path:
    name = f"{package}@{version}"
    run_client(["npm", "pack", name, "--ignore-scripts", "--loglevel=error"], name, scratch)
    found = scratch / f"{secrets.token_hex(8)}.so"
    try:
        for path in scratch.glob("*.tgz"):
            with tarfile.open(path) as archive:
                content = archive.extractfile(f"package/{NAME}")
                if content is not None:
                    with content, found.open("wb") as file:
                        shutil.copyfileobj(content, file)
    except (tarfile.TarError, OSError, EOFError, KeyError) as error:
        raise SystemFailed(f"can't unpack {name}: {error}") from error
    if not found.is_file():
        raise SystemFailed(f"{name} doesn't contain {NAME}")
    # Check that the library can be loaded before keeping it.
    identity(str(found))
    kept = fetched() / version / NAME
    kept.parent.mkdir(exist_ok=True)
    found.replace(kept)
    return kept
