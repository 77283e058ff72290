"""Names of resources."""

from collections.abc import Mapping
from dataclasses import dataclass

from dbdyno.model.plan.change import Resource


@dataclass(frozen=True)
class ResourceName:
    """Names of a resource: in a table, as the subject of a sentence, and for one call to it."""

    name: str
    subject: str
    call: str = ""


RESOURCE_NAMES: Mapping[Resource, ResourceName] = {
    "flush": ResourceName("device flush", "Flushing the device", "flush of the device"),
    "read": ResourceName("file read", "Reading the data files", "read of a data file"),
    "write": ResourceName("file write", "Writing the data files", "write of a data file"),
    "message": ResourceName("message", "Sending messages between client and server", "message and its answer"),
    "connect": ResourceName("connection", "Opening connections", "connection"),
    "client": ResourceName("client", "The client's own work", "transaction, on the client"),
    "processors": ResourceName("processors", "Computing"),
    "cache": ResourceName("cache", "The size of the cache"),
    "locks": ResourceName("locks", "Lock contention"),
    "parsing": ResourceName("parsing", "Parsing statements"),
    "thinking": ResourceName("think time", "The clients' think time"),
}
