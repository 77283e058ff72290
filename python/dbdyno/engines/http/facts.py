"""What is known of an HTTP service when advice is given."""

from dataclasses import dataclass

from dbdyno.engines.server.facts import Server


@dataclass(frozen=True)
class Service(Server):
    """A service that a URL names."""

    @property
    def unread(self) -> str:
        """Name its processes: dbdyno does not know them."""
        return (
            "how busy the service is cannot be read: name its processes in `measure.processes` where it runs on this "
            "machine, else look at the processors of its own (top)"
        )
