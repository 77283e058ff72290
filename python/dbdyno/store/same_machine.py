"""Decide whether two runs were measured on the same machine."""

from dbdyno.model.result.reading import JsonObject, number

# The reported memory size depends on the kernel, which reserves part of the memory.
_MEMORY_TOLERANCE = 0.05


def same_machine(known: JsonObject, host: JsonObject) -> bool:
    """Whether the recorded facts of two hosts agree, including file system and device of the data."""
    if any(known.get(name) != host.get(name) for name in ("cpu", "cores", "machine", "file_system", "device")):
        return False
    one, other = number(known, "memory_bytes"), number(host, "memory_bytes")
    if one is None or other is None:
        return one == other
    return abs(one - other) <= _MEMORY_TOLERANCE * max(one, other)
