"""The MySQL server that `tests/install-mysql` unpacks beside the MariaDB of the system."""

import os
from pathlib import Path

import pytest

PROGRAM = Path(f"/var/tmp/dbdyno-{os.geteuid()}/mysql/bin/mysqld")

URL = f"mysql:?program={PROGRAM}"

needs_real_mysql = pytest.mark.skipif(not PROGRAM.exists(), reason="there is no MySQL server here: tests/install-mysql")
