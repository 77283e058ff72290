"""A program that uses a share of each given CPU until its standard input is closed, and prints the share it used.

Usage: `python cpu_load.py SHARE CPU,CPU,…`. It is started by its path and doesn't import dbdyno, so it starts quickly.

It is busy for a part of each millisecond. This slows down programs that compute on the same CPU, but hardly those that
wait for something else: a thread that becomes ready waits a few hundred microseconds at most.
"""

import contextlib
import ctypes
import os
import random
import select
import sys
import time

# Average period in seconds. Each period is random, so that the measured program can't synchronize with it.
_PERIOD_S = 0.001

# Seconds between two checks of standard input.
_LOOK_S = 0.02

# prctl(2): the timer slack, in nanoseconds.
_SET_TIMER_SLACK = 29


def take(share: float, processor: int, until_closed: int) -> float:
    """Use a share of a CPU until a file descriptor is closed; return the share that was used."""
    os.sched_setaffinity(0, {processor})
    # Without the privilege for real-time scheduling, it gets a fair share at most.
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(os.sched_get_priority_min(os.SCHED_RR)))
    ctypes.CDLL(None).prctl(_SET_TIMER_SLACK, 1, 0, 0, 0)
    began, computed = time.monotonic(), time.thread_time()
    look = began
    while True:
        now = time.monotonic()
        if now >= look:
            if select.select([until_closed], [], [], 0)[0]:
                break
            look = now + _LOOK_S
        period = _PERIOD_S * random.uniform(0.5, 1.5)
        end = now + share * period
        while time.monotonic() < end:
            pass
        time.sleep(max(now + period - time.monotonic(), 0.0))
    return (time.thread_time() - computed) / max(time.monotonic() - began, 1e-9)


def main() -> None:
    """Start a process per CPU, and print the average share that they used."""
    share, processors = float(sys.argv[1]), [int(each) for each in sys.argv[2].split(",")]
    pipes: list[int] = []
    children: list[int] = []
    for processor in processors:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            os.write(write, f"{take(share, processor, 0)}\n".encode())
            os._exit(0)
        os.close(write)
        pipes.append(read)
        children.append(child)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    shares = []
    for read in pipes:
        with os.fdopen(read, encoding="ascii") as output:
            shares.append(float(output.read() or 0.0))
    for child in children:
        os.waitpid(child, 0)
    sys.stdout.write(f"{sum(shares) / len(shares)}\n")


if __name__ == "__main__":
    main()
