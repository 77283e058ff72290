"""Passwords that were typed are taken off the list of processes, where every user of the machine could read them."""

import contextlib
import re
import sys
from pathlib import Path

_PROCESS = Path("/proc/self")
# Of the fields behind the name of the program, proc(5): where the arguments begin in memory, and where they end.
_BEGIN, _END = 45, 46
# What may hold a password, told without reading in what masks it.
_SUSPECT = re.compile(r"://[^\s]*@|passw|pwd", re.I)


def hide_passwords() -> None:
    """Overwrite the passwords of URLs in this process's arguments, as others see them. ``sys.argv`` stays as it is.

    On Linux; where the system does not allow it, nothing happens.
    """
    if not any(_SUSPECT.search(each) for each in sys.argv):
        return
    from dbdyno.store.masking import mask_text

    with contextlib.suppress(OSError, ValueError, IndexError):
        fields = (_PROCESS / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        begin, end = int(fields[_BEGIN]), int(fields[_END])
        with (_PROCESS / "mem").open("r+b", buffering=0) as memory:
            memory.seek(begin)
            words = memory.read(end - begin).split(b"\0")
            memory.seek(begin)
            memory.write(b"\0".join(_hidden(each, mask_text(each.decode(errors="surrogateescape"))) for each in words))


def _hidden(word: bytes, masked: str) -> bytes:
    """Give a word in its length: what stands there now cannot grow, and a gap would be a word of its own."""
    text = masked.encode(errors="surrogateescape")
    return text[: len(word)].ljust(len(word))
