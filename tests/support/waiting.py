"""Waiting for what happens, however busy the machine is."""

import time
from collections.abc import Callable
from typing import Any


def eventually(check: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Whether a check holds within so many seconds."""
    end = time.monotonic() + seconds
    while not check():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def wait_until(what: Callable[[], Any], seconds: float = 60.0) -> Any:
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.05)
    return found
