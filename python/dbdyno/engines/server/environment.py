"""The environment of servers and of the programs that create their data."""

import os

# A server may run as another user, who must not see the other variables: tokens and settings of the user's clients.
_PASSED_ON = ("PATH", "HOME", "TMPDIR", "TZ", "LD_LIBRARY_PATH", "LD_PRELOAD")


def environment() -> dict[str, str]:
    """Return the environment variables that servers inherit, and their locale."""
    passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    # dbdyno parses English messages, and strings are sorted by code point.
    return passed_on | {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
