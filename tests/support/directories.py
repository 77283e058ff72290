"""Directories for servers, which may run under another account than the tests."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def server_directory(prefix: str = "dbdyno-test-", mode: int = 0o700) -> Iterator[Path]:
    """Make a directory that other accounts can reach, unlike pytest's; it is removed at the end.

    ``mode``: its permissions, as for chmod(2).
    """
    with tempfile.TemporaryDirectory(prefix=prefix, dir="/var/tmp") as name:
        made = Path(name)
        made.chmod(mode)
        yield made
