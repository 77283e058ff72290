"""What resources are called."""

from collections.abc import Mapping
from dataclasses import dataclass

from dbdyno.model.plan.change import Resource


@dataclass(frozen=True)
class Called:
    """How a resource is called: in a table; as the subject of a sentence; what is left out of it, were it free."""

    name: str
    subject: str
    call: str = ""


CALLED: Mapping[Resource, Called] = {
    "flush": Called("device flush", "Flushing the device", "flush of the device"),
    "read": Called("file read", "Reading the data files", "read of a data file"),
    "write": Called("file write", "Writing the data files", "write of a data file"),
    "message": Called("message", "The way between client and server", "message and its answer"),
    "connect": Called("connection", "Opening connections", "connection"),
    "client": Called("client", "The client's own work", "transaction, on the client"),
    "processors": Called("processors", "Computing"),
    "cache": Called("cache", "The size of the cache"),
    "locks": Called("locks", "Waiting for one another's locks"),
    "parsing": Called("parsing", "Parsing statements"),
    "thinking": Called("think time", "The clients' think time"),
}
