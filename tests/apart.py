"""Where tests make the data directories of servers: apart from one another on the device."""

import array
import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# ioctl FS_IOC_GETFLAGS and FS_IOC_SETFLAGS, and the attribute T of chattr(1) (linux/fs.h).
_GET_FLAGS = 0x80086601
_SET_FLAGS = 0x40086602
_TOP = 0x00020000


@contextmanager
def directory_apart(prefix: str = "dbdyno-test-", mode: int = 0o700) -> Iterator[Path]:
    """Have a directory where all users may go, as servers do that run as another one than root; it goes in the end.

    ``mode``: who may enter it, by chmod(2).
    """
    place = Path(f"/var/tmp/dbdyno-tests-{os.geteuid()}")
    place.mkdir(exist_ok=True)
    place.chmod(0o755)
    lay_apart(place)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=place) as name:
        made = Path(name)
        made.chmod(mode)
        yield made


def lay_apart(directory: Path) -> None:
    """Have ext4 put what is made in each directory of this one into a part of the device of its own, where it can.

    Without a journal it looks, for each file that is made, at all that were removed nearby in the last minute, and a
    server's data are a thousand files that are made and removed.
    """
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        flags = array.array("l", [0])
        # Another file system may know no such thing.
        with suppress(OSError):
            fcntl.ioctl(descriptor, _GET_FLAGS, flags)
            flags[0] |= _TOP
            fcntl.ioctl(descriptor, _SET_FLAGS, flags)
    finally:
        os.close(descriptor)
