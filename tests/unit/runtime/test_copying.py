"""Copies of loaded data, on the same file system and on another."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno.runtime.workspace.file_copies import copy_directory, copy_file, set_os_cache

MEMORY = Path("/dev/shm")


@pytest.fixture(params=["the same", "another"])
def there(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A directory on the same file system as the test's own, and one elsewhere."""
    if request.param == "the same":
        (tmp_path / "there").mkdir()
        yield tmp_path / "there"
        return
    if not MEMORY.is_dir() or MEMORY.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second file system in memory")
    with tempfile.TemporaryDirectory(dir=MEMORY) as directory:
        yield Path(directory)


def test_a_file_is_copied_whole(tmp_path: Path, there: Path) -> None:
    content = os.urandom(3_000_001)
    (tmp_path / "a").write_bytes(content)
    copy_file(tmp_path / "a", there / "b")
    assert (there / "b").read_bytes() == content


def test_a_directory_is_copied_with_its_links_and_permissions(tmp_path: Path, there: Path) -> None:
    source = tmp_path / "data"
    (source / "base" / "1").mkdir(parents=True)
    (source / "base" / "1" / "rows").write_bytes(b"rows" * 5000)
    (source / "empty").mkdir(mode=0o700)
    (source / "link").symlink_to("base/1/rows")
    (source / "base" / "1" / "rows").chmod(0o600)
    copy_directory(source, there / "copy")
    assert (there / "copy" / "base" / "1" / "rows").read_bytes() == b"rows" * 5000
    assert (there / "copy" / "base" / "1" / "rows").stat().st_mode & 0o777 == 0o600
    assert (there / "copy" / "link").readlink() == Path("base/1/rows")
    assert list((there / "copy" / "empty").iterdir()) == []
    for state in ("warm", "cold"):
        set_os_cache(there / "copy", state)
    assert (there / "copy" / "link").read_bytes() == b"rows" * 5000


def test_a_file_that_a_server_removes_meanwhile_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"rows")
    seen = []

    def removing(directory: Path) -> Iterator[os.DirEntry[str]]:
        for each in list(os.scandir(directory)):
            Path(each.path).unlink()
            seen.append(each.name)
            yield each

    monkeypatch.setattr("dbdyno.runtime.workspace.file_copies.files_below", removing)
    set_os_cache(tmp_path, "cold")
    assert sorted(seen) == ["a", "b"]
