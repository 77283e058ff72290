"""Which machine a run was on, as far as its facts tell."""

from dbdyno.model.result.reading import JsonObject, number

# A kernel keeps some of the memory for itself, another one another amount.
_MEMORY_TOLERANCE = 0.05


def same_machine(known: JsonObject, host: JsonObject) -> bool:
    """Whether two hosts are one machine with the data at one place, as far as their facts tell."""
    if any(known.get(name) != host.get(name) for name in ("cpu", "cores", "machine", "file_system", "device")):
        return False
    here, there = number(known, "memory_bytes"), number(host, "memory_bytes")
    if here is None or there is None:
        return here == there
    return abs(here - there) <= _MEMORY_TOLERANCE * max(here, there)
