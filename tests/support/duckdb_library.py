"""DuckDB's library, which `tests/install/npm-packages` unpacks."""

import os
from pathlib import Path

import pytest

_UNPACKED = sorted(Path(f"/var/tmp/dbdyno-{os.getuid()}").glob("duckdb-*/libduckdb.so"))

LIBRARY = _UNPACKED[-1] if _UNPACKED else None

URL = f"duckdb:?library={LIBRARY}"

needs_duckdb = pytest.mark.skipif(LIBRARY is None, reason="DuckDB is not installed: tests/install/npm-packages")
