"""The library as DuckDB's developers publish it for node.js, fetched by the user's own npm client."""

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

#: The release that dbdyno's own tests run on.
TESTED = "1.5.6"

_PACKAGES = {
    ("Linux", "x86_64"): "@duckdb/node-bindings-linux-x64",
    ("Linux", "aarch64"): "@duckdb/node-bindings-linux-arm64",
}


def get_library(version: str) -> Path:
    """Give the path of a release's library; fetch it where it is not cached.

    Raises InputError for what is no release, and SystemFailed where npm is not there or fails.
    """
    if not re.fullmatch(r"\d+\.\d+\.\d+(?:-[a-z]+\.\d+)?", version):
        raise InputError(version, "this is no release of DuckDB", f"write it as `{TESTED}`")
    cached = sorted(fetched().glob(f"{version}*/{NAME}"))
    if cached:
        return cached[-1]
    machine = (platform.system(), platform.machine())
    if machine not in _PACKAGES:
        raise SystemFailed(f"there is no package for {' on '.join(machine)}: build {NAME}, and give it by `library=`")
    if shutil.which("npm") is None:
        raise SystemFailed(f"`npm` fetches {NAME}, and it is not installed: install it, or give `library=`")
    package = _PACKAGES[machine]
    fetched().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".get-", dir=fetched()) as scratch:
        full = _published(package, version, Path(scratch))
        return _unpacked(package, full, Path(scratch))


def _published(package: str, version: str, scratch: Path) -> str:
    """Give the package's own version of a release: its name has a suffix that counts packages of one release."""
    said = json.loads(run_client(["npm", "view", package, "versions", "--json"], package, scratch))
    known = [said] if isinstance(said, str) else [str(each) for each in said]
    fitting = [each for each in known if each == version or each.startswith(f"{version}-")]
    if not fitting:
        releases = list(dict.fromkeys(each.partition("-")[0] for each in known))
        raise InputError(version, f"{package} has no such version", f"known: {', '.join(releases[-8:])}")
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
        raise SystemFailed(f"{name} cannot be unpacked: {error}") from error
    if not found.is_file():
        raise SystemFailed(f"{name} has no {NAME} in it")
    # One that cannot be loaded is not kept.
    identity(str(found))
    kept = fetched() / version / NAME
    kept.parent.mkdir(exist_ok=True)
    found.replace(kept)
    return kept
