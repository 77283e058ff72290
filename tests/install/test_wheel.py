"""The wheel that `make` builds, in an environment of its own where there is no Rust."""

import os
import subprocess
import sys
import venv
import zipfile
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
    names = zipfile.ZipFile(wheel).namelist()
    assert "dbdyno/lib/preload.abi3.so" in names, "what servers preload"
    assert "dbdyno/lib/sqlite_observer.abi3.so" in names, "what programs preload"
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
