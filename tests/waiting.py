"""Waiting for what happens, however busy the machine is."""

import time
from collections.abc import Callable


def eventually(check: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Whether a check holds within so many seconds."""
    end = time.monotonic() + seconds
    while not check():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True
