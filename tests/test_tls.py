"""Encrypted connections to servers that are named, on those that are installed here."""

import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import Cli
from dbdyno.errors import InputError, SystemFailed
from dbdyno.run.hosts.managed import target
from dbdyno.systems.managed import Server, create_data, find_installations, start_server
from dbdyno.systems.tls import Tls, split_tls
from dbdyno.worker import ask

PASSWORD = "it's right"

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl to make certificates")
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


def openssl(directory: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=directory, check=True, capture_output=True)


def make_certificates(directory: Path) -> None:
    """An authority, another that has signed nothing, and a server's certificate for `localhost` only."""
    for name in ("ca", "other"):
        subject = ("-subj", f"/CN=dbdyno test {name}", "-days", "2")
        openssl(directory, "req", "-x509", "-newkey", "rsa:2048", "-nodes", *subject, "-keyout", f"{name}.key", "-out",
                f"{name}.crt")  # fmt: skip
    request = ("-subj", "/CN=server", "-keyout", "server.key", "-out", "server.csr")
    openssl(directory, "req", "-newkey", "rsa:2048", "-nodes", *request)
    (directory / "names").write_text("subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n")
    signed = ("-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names")
    openssl(directory, "x509", "-req", "-in", "server.csr", "-out", "server.crt", *signed)


class Place:
    """A server of an engine, and what connects to it over TCP."""

    def __init__(self, engine: str, work: Path) -> None:
        self.engine, self.work = engine, work
        self.data = work / "data"
        self.installation = find_installations(engine)[0]
        create_data(self.installation, self.data)
        make_certificates(work)

    def start(self, certificate: str | None, demanded: bool = True) -> Server:
        """Start it with a certificate; ``demanded``: no connection over TCP is taken without TLS."""
        settings: dict[str, str] = {}
        if certificate:
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
        ask({"schema": "dbdyno.plan/1", "seed": 1, "task": task | {"tables": [], "after": []}}, "loaded")

    def facts(self, server: Server, host: str, **tls: Any) -> dict[str, Any]:
        """Connect and look."""
        where = {"host": host, "port": server.port, "user": "me", "password": PASSWORD, "database": server.database}
        tls.setdefault("roots", None)
        task = {"kind": "inspect", "target": {"engine": self.engine, "tls": tls} | where}
        facts: dict[str, Any] = ask({"schema": "dbdyno.plan/1", "seed": 1, "task": task}, "facts")["engine"]
        return facts

    def refusal(self, server: Server, host: str, **tls: Any) -> str:
        with pytest.raises(SystemFailed) as failed:
            self.facts(server, host, **tls)
        return str(failed.value)


@pytest.fixture
def place(request: pytest.FixtureRequest) -> Iterator[Callable[[str], Place]]:
    """Make a place for an engine; servers may go there that run as another user than root."""
    work = Path(tempfile.mkdtemp(prefix="dbdyno-test-", dir="/var/tmp"))
    work.chmod(0o755)
    yield lambda engine: Place(engine, work)
    shutil.rmtree(work)


@needs_openssl
@pytest.mark.parametrize("engine", ENGINES)
def test_a_connection_is_as_safe_as_the_mode_says(place: Callable[[str], Place], engine: str) -> None:
    here = place(engine)
    ca, other = str(here.work / "ca.crt"), str(here.work / "other.crt")
    with here.start("server") as server:
        for host, tls in (
            ("127.0.0.1", {"mode": "prefer"}),
            ("127.0.0.1", {"mode": "require"}),
            ("127.0.0.1", {"mode": "verify-ca", "roots": ca}),
            ("localhost", {"mode": "verify-full", "roots": ca}),
        ):
            assert here.facts(server, host, **tls)["settings"]["tls"].startswith("TLSv1")
        wrong_name = here.refusal(server, "127.0.0.1", mode="verify-full", roots=ca)
        assert "not for `127.0.0.1`, but for localhost" in wrong_name
        for tls in ({"mode": "verify-ca", "roots": other}, {"mode": "verify-full"}):
            assert "`localhost` has a certificate that nobody in" in here.refusal(server, "localhost", **tls)
        assert other in here.refusal(server, "localhost", mode="verify-ca", roots=other)
        without = here.refusal(server, "127.0.0.1", mode="disable")
        assert ("no encryption" if engine == "postgresql" else "it may demand TLS") in without
        not_one = here.refusal(server, "localhost", mode="verify-ca", roots=str(here.work / "names"))
        assert f"{here.work / 'names'} has no certificate in it" in not_one


@needs_openssl
@pytest.mark.parametrize("engine", ENGINES)
def test_a_server_without_tls_is_used_only_where_that_is_allowed(place: Callable[[str], Place], engine: str) -> None:
    here = place(engine)
    with here.start(None, demanded=False) as server:
        assert "tls" not in here.facts(server, "127.0.0.1", mode="prefer")["settings"]
        for mode in ("require", "verify-ca", "verify-full"):
            assert "the server has no TLS" in here.refusal(server, "127.0.0.1", mode=mode)


@needs_openssl
@pytest.mark.parametrize("engine", ENGINES)
def test_a_certificate_that_is_its_own_authority_can_be_believed(place: Callable[[str], Place], engine: str) -> None:
    here = place(engine)
    with here.start("ca") as server:
        own = str(here.work / "ca.crt")
        assert here.facts(server, "127.0.0.1", mode="verify-ca", roots=own)["settings"]["tls"].startswith("TLSv1")
        assert "not for `127.0.0.1`" in here.refusal(server, "127.0.0.1", mode="verify-full", roots=own)


@needs_openssl
@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_over_tls_loads_measures_and_says_so(
    place: Callable[[str], Place], engine: str, small: Callable[..., str]
) -> None:
    here = place(engine)
    with here.start("server") as server:
        cli = Cli(here.work)
        # More than one client on a thread, and answers longer than a record of TLS.
        text = small(("clients = [1, 2]", "clients = [8]"))
        text += '\n[[transactions]]\nname = "all"\nsteps = [{ execute = "select * from t" }]\n'
        user = f"me:{PASSWORD.replace(' ', '%20')}"
        url = f"{engine}://{user}@localhost:{server.port}/?sslmode=verify-full&sslrootcert={here.work / 'ca.crt'}"
        document = cli.run(cli.write("small.toml", text), "--system", url, "--rounds", "1")
        cell = document["cells"][0]
        assert [each["ok"] for each in cell["rounds"]] == [4000]
        assert cell["system"]["settings"]["tls"].startswith("TLSv1")
        assert PASSWORD not in str(document)


@pytest.mark.parametrize(
    ("engine", "given", "tls"),
    [
        ("postgresql", {}, Tls("prefer")),
        ("postgresql", {"sslmode": "Verify-Full"}, Tls("verify-full")),
        ("mysql", {"ssl-mode": "REQUIRED"}, Tls("require")),
        ("mysql", {"ssl-mode": "VERIFY_IDENTITY"}, Tls("verify-full")),
        ("mysql", {"sslmode": "disable"}, Tls("disable")),
    ],
)
def test_the_modes_have_the_names_that_are_known(engine: str, given: dict[str, str], tls: Tls) -> None:
    assert split_tls(engine, given | {"work_mem": "1MB"}, "url") == (tls, {"work_mem": "1MB"})


def test_naming_an_authority_has_it_asked(tmp_path: Path) -> None:
    file = tmp_path / "ca.crt"
    file.touch()
    found, _ = split_tls("postgresql", {"sslmode": "require", "sslrootcert": str(file)}, "url")
    assert found == Tls("verify-ca", str(file))
    found, _ = split_tls("mysql", {"ssl-mode": "REQUIRED", "ssl-ca": str(file)}, "url")
    assert found == Tls("require", str(file))


@pytest.mark.parametrize(
    ("engine", "given", "words"),
    [
        ("postgresql", {"sslmode": "verify-al"}, "did you mean `verify-"),
        ("postgresql", {"sslmode": "allow"}, "known: disable"),
        ("postgresql", {"sslrootcert": "/nowhere.crt"}, "there is no file /nowhere.crt"),
        ("mysql", {"ssl-mode": "REQUIRED", "sslmode": "require"}, "said twice"),
    ],
)
def test_what_is_no_option_is_told(engine: str, given: dict[str, str], words: str) -> None:
    with pytest.raises(InputError) as wrong:
        split_tls(engine, given, "url")
    assert words in str(wrong.value)
