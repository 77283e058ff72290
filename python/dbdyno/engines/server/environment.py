"""The environment of every program that dbdyno starts as a server, or to make a server's data."""

import os

# A server may run as another user, for whom the rest is not meant: tokens, and the settings of the user's own clients.
_PASSED_ON = ("PATH", "HOME", "TMPDIR", "TZ", "LD_LIBRARY_PATH", "LD_PRELOAD")


def environment() -> dict[str, str]:
    """Return the variables of this process that servers get, and the locale of servers."""
    passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    # Messages are read, and texts are ordered, as in no language.
    return passed_on | {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
