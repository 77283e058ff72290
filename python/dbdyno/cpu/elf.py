"""The sizes of what is in an object file, as the program ``size`` gives them."""

import struct
from pathlib import Path
from typing import NamedTuple

from dbdyno.base.errors import SystemFailed

# Of the ELF format (System V ABI, chapter 4): bits of a section's flags, and the type of one without bytes in the file.
_WRITE, _ALLOCATED = 1, 2
_NO_BITS = 8

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")


class ObjectSize(NamedTuple):
    """Bytes of code and constants (``text``), of variables with a value (``data``) and without (``bss``)."""

    text: int
    data: int
    bss: int


def object_size(path: Path) -> ObjectSize:
    """Add up an object's sections, as Berkeley's ``size`` does. Raises SystemFailed where it is no 64-bit ELF file."""
    content = path.read_bytes()
    if content[:6] != b"\x7fELF\x02\x01":
        raise SystemFailed(
            f"{path}: it is not a little-endian ELF file of 64 bits, so that its sections cannot be read"
        )
    fields = _HEADER.unpack_from(content)
    start, each, count = fields[6], fields[11], fields[12]
    text = data = bss = 0
    for index in range(count):
        _, kind, flags, _, _, size, *_ = _SECTION.unpack_from(content, start + index * each)
        if not flags & _ALLOCATED:
            continue
        if kind == _NO_BITS:
            bss += size
        elif flags & _WRITE:
            data += size
        else:
            text += size
    return ObjectSize(text, data, bss)
