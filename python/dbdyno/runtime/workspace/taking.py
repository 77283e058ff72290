"""A program that takes a share of each of some processors until its standard input ends, and says how much it took.

It is run by its path, and imports nothing of dbdyno, so that it starts at once. `python taking.py SHARE CPU,CPU,…`

It computes for a part of each millisecond, so that whatever computes on the same processor is slower, and whatever
waits for something else is hardly so: what becomes ready while it computes waits a few hundred microseconds at most.
"""

import contextlib
import ctypes
import os
import random
import select
import sys
import time

# Seconds, on average, from one time that it computes to the next: the ends of what it slows down must not fall in step.
_PERIOD_S = 0.001

# Seconds between two looks at whether it is to end.
_LOOK_S = 0.02

# prctl(2): how late a sleeper may be woken, in nanoseconds.
_SET_TIMER_SLACK = 29


def take(share: float, processor: int, until_closed: int) -> float:
    """Take a share of a processor until a descriptor is at its end; give the share that it had."""
    os.sched_setaffinity(0, {processor})
    # Who may not go before all others gets what the kernel thinks fair.
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
    """Take the share of each processor, in a process for each; say what was taken on average."""
    share, processors = float(sys.argv[1]), [int(each) for each in sys.argv[2].split(",")]
    told: list[int] = []
    children: list[int] = []
    for processor in processors:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            os.write(write, f"{take(share, processor, 0)}\n".encode())
            os._exit(0)
        os.close(write)
        told.append(read)
        children.append(child)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    taken = []
    for read in told:
        with os.fdopen(read, encoding="ascii") as said:
            taken.append(float(said.read() or 0.0))
    for child in children:
        os.waitpid(child, 0)
    sys.stdout.write(f"{sum(taken) / len(taken)}\n")


if __name__ == "__main__":
    main()
