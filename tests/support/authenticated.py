"""A server that asks for a user's password over TCP, with TLS or without."""

import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dbdyno.base.errors import SystemFailed
from dbdyno.engines.server.installations import find_installations
from dbdyno.engines.server.managed import target
from dbdyno.engines.server.server import Server, start_server
from dbdyno.model.events.answers import FactsRead, Loaded
from dbdyno.runtime.worker import ask
from directories import server_directory
from fresh_data import fresh_data

PASSWORD = "it's right"

ENGINES = [
    pytest.param(
        engine, marks=pytest.mark.skipif(not find_installations(engine), reason=f"there is no {engine} server here")
    )
    for engine in ("postgresql", "mysql")
]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


# Quicker made than one of RSA, by half a second.
KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")


def openssl(directory: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=directory, check=True, capture_output=True)


def make_certificates(directory: Path) -> None:
    """An authority, another that has signed nothing, and a server's certificate for `localhost` only."""
    for name in ("ca", "other"):
        subject = ("-subj", f"/CN=dbdyno test {name}", "-days", "2")
        openssl(directory, "req", "-x509", *KEY, "-nodes", *subject, "-keyout", f"{name}.key", "-out",
                f"{name}.crt")  # fmt: skip
    request = ("-subj", "/CN=server", "-keyout", "server.key", "-out", "server.csr")
    openssl(directory, "req", *KEY, "-nodes", *request)
    (directory / "names").write_text("subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n")
    signed = ("-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names")
    openssl(directory, "x509", "-req", "-in", "server.csr", "-out", "server.crt", *signed)


class Place:
    """A server of an engine, and what connects to it over TCP."""

    def __init__(self, engine: str, work: Path) -> None:
        self.engine, self.work = engine, work
        self.data = work / "data"
        self.installation = find_installations(engine)[0]
        fresh_data(self.installation, self.data)

    def start(self, certificate: str | None, demanded: bool = True) -> Server:
        """Start it with a certificate; ``demanded``: no connection over TCP is taken without TLS."""
        settings: dict[str, str] = {}
        if certificate:
            make_certificates(self.work)
            for end in ("crt", "key"):
                shutil.copyfile(self.work / f"{certificate}.{end}", self.data / f"tls.{end}")
            (self.data / "tls.key").chmod(0o600)
        if self.engine == "postgresql":
            rule = "hostssl" if demanded else "host"
            rules = f"local all all trust\n{rule} all all 127.0.0.1/32 scram-sha-256\n"
            (self.data / "pg_hba.conf").write_text(rules)
            if certificate:
                settings = {"ssl": "on", "ssl_cert_file": "tls.crt", "ssl_key_file": "tls.key"}
        elif certificate:
            settings = {f"ssl_{name}": str(self.data / f"tls.{end}") for name, end in (("cert", "crt"), ("key", "key"))}
            settings["require_secure_transport"] = "ON" if demanded else "OFF"
        server = start_server(self.installation, self.data, self.work, settings, tcp_port=free_port())
        self._make_user(server)
        return server

    def _make_user(self, server: Server) -> None:
        password = PASSWORD.replace("'", "''")
        if self.engine == "postgresql":
            statements = ["drop role if exists me", f"create role me login superuser password '{password}'"]
        else:
            statements = [f"create or replace user me@'%' identified by '{password}'", "grant all on *.* to me@'%'"]
        task = {"kind": "load", "target": target(server), "before": statements}
        ask({"schema": "dbdyno.plan/1", "seed": 1, "task": task | {"tables": [], "after": []}}, Loaded)

    def over_tcp(self, server: Server, host: str = "127.0.0.1", **other: Any) -> dict[str, Any]:
        """Name it as a plan does, with what is other."""
        where = {"host": host, "port": server.port, "user": "me", "password": PASSWORD, "database": server.database}
        return {"engine": self.engine} | where | other

    def facts(self, server: Server, host: str, **tls: Any) -> dict[str, Any]:
        """Connect and look."""
        tls.setdefault("roots", None)
        task = {"kind": "inspect", "target": self.over_tcp(server, host, tls=tls)}
        found = ask({"schema": "dbdyno.plan/1", "seed": 1, "task": task}, FactsRead)
        return found.engine.model_dump(mode="json")

    def refusal(self, server: Server, host: str, **tls: Any) -> str:
        with pytest.raises(SystemFailed) as failed:
            self.facts(server, host, **tls)
        return str(failed.value)

    @property
    def login(self) -> str:
        """The user and the password, as they stand in a URL."""
        return f"me:{PASSWORD.replace(' ', '%20')}"


@contextmanager
def places() -> Iterator[Callable[[str], Place]]:
    """Make a place for an engine; servers may go there that run as another user than root."""
    with server_directory(mode=0o755) as work:
        yield lambda engine: Place(engine, work)
