"""Hide typed passwords from the process list, which every user of the machine can read."""

import contextlib
import re
import sys
from pathlib import Path

_PROCESS = Path("/proc/self")
# Fields after the program's name in proc(5): start and end address of the arguments.
_BEGIN, _END = 45, 46
# Matches every password, so that the masking code is imported only if necessary.
_SUSPECT = re.compile(r"://[^\s]*@|passw|pwd", re.I)


def hide_passwords() -> None:
    """Overwrite the passwords of URLs in this process's visible arguments. ``sys.argv`` is unchanged.

    Works on Linux; does nothing if the system refuses.
    """
    if not any(_SUSPECT.search(argument) for argument in sys.argv):
        return
    from dbdyno.store.masking import mask_text

    with contextlib.suppress(OSError, ValueError, IndexError):
        fields = (_PROCESS / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        begin, end = int(fields[_BEGIN]), int(fields[_END])
        with (_PROCESS / "mem").open("r+b", buffering=0) as memory:
            memory.seek(begin)
            words = memory.read(end - begin).split(b"\0")
            memory.seek(begin)
            memory.write(b"\0".join(_hidden(word, mask_text(word.decode(errors="surrogateescape"))) for word in words))


def _hidden(word: bytes, masked: str) -> bytes:
    """Return a masked word of the same length, because the memory of arguments has a fixed size."""
    text = masked.encode(errors="surrogateescape")
    return text[: len(word)].ljust(len(word))
