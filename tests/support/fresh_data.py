"""Fresh data of servers, which are made once for all tests that want some."""

from pathlib import Path

from dbdyno.engines.server.account import allow_traversal, change_owner, server_account
from dbdyno.engines.server.data import kept_data
from dbdyno.engines.server.managed import common_directory
from dbdyno.engines.server.programs import Installation
from dbdyno.runtime.workspace.file_copies import copy_directory


def kept() -> Path:
    """Where dbdyno keeps a server's fresh data when it runs as root. Those of one test are as good for another."""
    path = common_directory() / "fresh"
    path.mkdir(exist_ok=True)
    return path


def fresh_data(installation: Installation, directory: Path) -> None:
    """Have fresh data of a server in a directory that is not there yet, as `create_data` makes them."""
    made = kept_data(installation, kept())
    account = server_account(installation.engine)
    directory.parent.mkdir(parents=True, exist_ok=True)
    allow_traversal(directory.parent, account)
    copy_directory(made, directory)
    change_owner(directory, account)
