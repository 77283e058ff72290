"""The MySQL servers beside the MariaDB of the system: a new one, and an old one that npm has."""

import os
from pathlib import Path

import pytest

PROGRAM = Path(f"/var/tmp/dbdyno-{os.geteuid()}/mysql/bin/mysqld")

URL = f"mysql:?program={PROGRAM}"

needs_real_mysql = pytest.mark.skipif(not PROGRAM.exists(), reason="there is no MySQL server here: tests/install/mysql")

OLD = Path(f"/var/tmp/dbdyno-{os.geteuid()}/mysql-5.6.24002/bin/mysqld")

needs_old_mysql = pytest.mark.skipif(not OLD.exists(), reason="there is no MySQL 5.6 here: tests/install/npm-packages")
