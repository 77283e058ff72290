"""Copies of directories that are used again: each is what the source is, whatever was done to it."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.runtime.workspace.directory_copies import DirectoryCopies, DirectoryCopy

NAMES = ("a", "b", "base/1/a", "base/1/b", "base/2/a", "wal/a")


def write(path: Path) -> None:
    """Other bytes, as many as before."""
    with path.open("r+b") as file:
        file.write(b"x" * max(path.stat().st_size, 1))


def write_mapped(path: Path) -> None:
    import mmap

    with path.open("r+b") as file:
        if path.stat().st_size:
            with mmap.mmap(file.fileno(), 0) as memory:
                memory[0] = 120


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")


def truncate(path: Path) -> None:
    os.truncate(path, 0)


def remove(path: Path) -> None:
    path.unlink()


def replace(path: Path) -> None:
    """Another file of the same size and time."""
    status = path.stat()
    path.unlink()
    path.write_bytes(b"y" * status.st_size)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def shut(path: Path) -> None:
    path.chmod(0o400)


def make_directory(path: Path) -> None:
    path.unlink()
    (path / "in").mkdir(parents=True)
    (path / "in" / "it").write_bytes(b"z")


def make_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/nowhere")


def make_beside(path: Path) -> None:
    path.with_name("new").write_bytes(b"new")


def remove_around(path: Path) -> None:
    shutil.rmtree(path.parent)


def swap(path: Path) -> None:
    """Names of files change places."""
    other = path.with_name("other")
    path.rename(other)
    (other.parent / "b").rename(path) if (other.parent / "b").is_file() else other.rename(path)


CHANGES = (write, write_mapped, append, truncate, remove, replace, shut, make_directory, make_link, make_beside, swap)


def tree(directory: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in directory.rglob("*"):
        mode = stat.S_IMODE(path.lstat().st_mode)
        what = path.readlink() if path.is_symlink() else "directory" if path.is_dir() else path.read_bytes()
        found[str(path.relative_to(directory))] = (mode, what)
    return found


def make_source(root: Path, sizes: tuple[int, ...]) -> Path:
    source = root / "source"
    for name, size in zip(NAMES, sizes, strict=True):
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(size))
        path.chmod(0o640)
    (source / "empty").mkdir()
    (source / "link").symlink_to("base/1")
    return source


@given(
    st.tuples(*[st.sampled_from((0, 1, 100, 9000))] * len(NAMES)),
    st.lists(st.lists(st.tuples(st.sampled_from(CHANGES), st.sampled_from(NAMES)), max_size=5), min_size=1, max_size=3),
)
def test_a_copy_is_the_source_again_whatever_was_done_to_it(
    sizes: tuple[int, ...], rounds: list[list[tuple[Any, str]]]
) -> None:
    with tempfile.TemporaryDirectory() as made:
        source = make_source(Path(made), sizes)
        copy = DirectoryCopy(source, Path(made) / "copy")
        for changes in rounds:
            copy.renew()
            assert tree(copy.path) == tree(source)
            copy.note()
            # As exact as times of files are.
            time.sleep(0.02)
            for change, name in changes:
                if (path := copy.path / name).is_file() and not path.is_symlink():
                    change(path)
        copy.renew()
        assert tree(copy.path) == tree(source)


def test_what_was_not_changed_stays_where_it_is(tmp_path: Path) -> None:
    source = make_source(tmp_path, (1,) * len(NAMES))
    copy = DirectoryCopy(source, tmp_path / "copy")
    copy.renew()
    copy.note()
    before = {name: (copy.path / name).stat().st_ctime_ns for name in NAMES}
    time.sleep(0.02)
    append(copy.path / "base/2/a")
    remove_around(copy.path / "wal/a")
    copy.renew()
    after = {name: (copy.path / name).stat().st_ctime_ns for name in NAMES}
    assert {name for name in NAMES if before[name] != after[name]} == {"base/2/a", "wal/a"}


def test_copies_are_taken_again_by_their_source_and_few_are_kept(tmp_path: Path) -> None:
    sources = [make_source(tmp_path / str(number), (1,) * len(NAMES)) for number in range(6)]
    copies = DirectoryCopies()
    paths = iter(tmp_path / f"copy-{number}" for number in range(20))
    taken = [copies.take(source, lambda: next(paths)) for source in sources]
    for each in taken:
        each.renew()
        each.note()
        copies.give_back(each)
    assert [each.path.exists() for each in taken] == [False, False, True, True, True, True]
    assert copies.take(sources[5], lambda: next(paths)) is taken[5]
    new = copies.take(sources[5], lambda: next(paths))
    assert new is not taken[5]
    assert not new.path.exists()


def test_none_is_kept_where_the_device_is_nearly_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = make_source(tmp_path, (100,) * len(NAMES))
    copies = DirectoryCopies()
    kept = copies.take(source, lambda: tmp_path / "kept")
    kept.renew()
    copies.give_back(kept)
    assert kept.path.exists()
    monkeypatch.setattr("dbdyno.runtime.workspace.directory_copies._free", lambda _: 100)
    other = make_source(tmp_path / "other", (100,) * len(NAMES))
    last = copies.take(other, lambda: tmp_path / "last")
    assert not kept.path.exists()
    last.renew()
    copies.give_back(last)
    assert not last.path.exists()
