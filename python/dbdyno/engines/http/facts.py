"""The facts on which advice about an HTTP service is based."""

from dataclasses import dataclass

from dbdyno.engines.server.facts import Server


@dataclass(frozen=True)
class Service(Server):
    """A service given by its URL."""

    @property
    def unread(self) -> str:
        """What to do if dbdyno doesn't know the service's processes."""
        return (
            "dbdyno can't read the service's CPU usage: name its processes in `measure.processes` if it runs on this "
            "machine; otherwise check the CPUs of its machine (top)"
        )
