"""The wheel that `make` builds, in an environment of its own where there is no Rust."""

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WHEELS = sorted((ROOT / "target/test-dist").glob("*.whl"))

# Without the directories of Rust, and of this environment.
BARE = {**os.environ, "PATH": "/usr/bin:/bin"}


@pytest.mark.skipif(not WHEELS, reason="no wheel was built: make dev")
def test_a_wheel_is_installed_without_rust_and_works(tmp_path: Path) -> None:
    (wheel,) = WHEELS
    assert "-abi3-" in wheel.name, "a wheel is for every Python from 3.11 on"
    assert "dbdyno/lib/preload.abi3.so" in zipfile.ZipFile(wheel).namelist(), "what servers preload"
    venv.create(tmp_path / "empty")
    python = tmp_path / "empty" / "bin" / "python"
    # Compiling all that is installed takes longer than installing it, and a pip of its own takes as long.
    pip = [sys.executable, "-m", "pip", "--python", python, "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--no-compile", "-c", ROOT / "requirements.lock", wheel], env=BARE, check=True)
    environment = BARE | {"DBDYNO_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        [python.parent / "dbdyno", "check", "sqlite:"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "14 checks: 14 ok" in done.stdout


@pytest.mark.skipif(shutil.which("cargo") is None, reason="there is no cargo")
def test_what_a_worker_without_servers_needs_is_compiled_once() -> None:
    """`make run` builds such a worker first; where features differed, the other would be built from the beginning."""
    small, whole = _packages("--no-default-features"), _packages()
    own = {"dbdyno-engines", "dbdyno-worker"}
    assert {name for name, _ in small} >= own
    assert {each for each in small - whole if each[0] not in own} == set(), "crates/features is to name them"


@pytest.mark.skipif(shutil.which("cargo") is None, reason="there is no cargo")
def test_what_the_worker_needs_is_not_compiled_again_for_tests() -> None:
    whole, tested = _packages(), _packages(of=("--workspace", *_TESTED))
    assert whole - tested == set(), "crates/features is to name what tests ask for besides"


@pytest.mark.skipif(shutil.which("cargo") is None, reason="there is no cargo")
def test_what_the_web_application_needs_too_is_compiled_once() -> None:
    application = ROOT / "python/dbdyno/engines/web/app/Cargo.toml"
    tested = _features(_packages(of=("--workspace", *_TESTED)))
    web = _features(_packages(of=("--manifest-path", str(application), *_TESTED)))
    differ = {each for each in tested.keys() & web.keys() if tested[each] != web[each]}
    # The worker does without what of Tokio runs in several threads.
    names = {each.split()[0] for each in differ} - {"tokio", "tokio-util"}
    assert names == set(), "one of the two Cargo.toml is to name their features"


_TESTED = ("--edges", "normal,build,dev")
_WORKER = ("--package", "dbdyno-worker", "--edges", "normal,build")


def _packages(*arguments: str, of: Sequence[str] = _WORKER) -> set[tuple[str, str]]:
    """Give the packages of a worker, or of more, each with its version and features."""
    command = ["cargo", "tree", "--locked", "--offline", *of, "--prefix", "none", "--format", "{p} [{f}]", *arguments]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {(name, rest.removesuffix(" (*)")) for name, _, rest in (line.partition(" ") for line in said.splitlines())}


def _features(packages: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """Give, by package with its version, the sets of features that it is compiled with."""
    found: dict[str, set[str]] = {}
    for name, rest in packages:
        version, _, features = rest.partition(" ")
        found.setdefault(f"{name} {version}", set()).add(features.rpartition("[")[2])
    return found
