"""Wait until the machine is idle before a trial."""

import time

import psutil

from dbdyno.run.machine import busy_seconds

# A machine is idle if, within one second, all CPUs together used less than this share of one CPU, and fewer than this
# number of bytes were written.
_BUSY_SHARE = 0.1
_WRITTEN_BYTES = 1 << 20

MAX_WAIT_S = 60.0
"""After this number of seconds, a trial starts even if the machine is busy; a finding reports the disturbance."""


def wait_until_idle(interrupted: object, longest_s: float = MAX_WAIT_S) -> float:
    """Wait until CPUs and disks are idle, for at most ``longest_s`` seconds; return the seconds waited.

    ``interrupted``: becomes true when the run is interrupted.
    """
    start = time.monotonic()
    while time.monotonic() - start < longest_s and not interrupted:
        busy, written = _busy(), _written()
        time.sleep(1.0)
        if _busy() - busy < _BUSY_SHARE and _written() - written < _WRITTEN_BYTES:
            break
    return time.monotonic() - start


def _busy() -> float:
    """Return the CPU seconds that the machine has used since boot."""
    return busy_seconds(psutil.cpu_times())


def _written() -> int:
    counters = psutil.disk_io_counters()
    return counters.write_bytes if counters else 0
