"""HTTP/1.1 and HTTP/2, in the clear and over TLS, on nginx where it is installed."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from authenticated import KEY
from conftest import Cli
from dbdyno.base.errors import SystemFailed
from dbdyno.model.events.answers import FactsRead
from dbdyno.model.events.trial import TrialResult
from dbdyno.model.plan.worker_plan import PLAN
from dbdyno.runtime.worker import ask
from directories import server_directory

NGINX = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(NGINX is None, reason="there is no nginx"),
    pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl to make certificates"),
]

CONFIGURATION = """
worker_processes 1;
pid {directory}/pid;
error_log {directory}/error.log;
events {{ worker_connections 1000; }}
http {{
  access_log off;
  keepalive_requests 5;
  client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy; fastcgi_temp_path {directory}/fastcgi;
  uwsgi_temp_path {directory}/uwsgi; scgi_temp_path {directory}/scgi;
  ssl_certificate {directory}/own.crt;
  ssl_certificate_key {directory}/own.key;
  server {{
    listen 127.0.0.1:{clear};
    listen 127.0.0.1:{two} http2;
    listen 127.0.0.1:{tls} ssl http2;
    add_header x-protocol $server_protocol;
    location / {{ return 200 "hello"; }}
    location /long {{ root {directory}; }}
    location /missing {{ return 404 "none such"; }}
  }}
}}
"""
LONG = 3_000_000


@dataclass
class Nginx:
    clear: int
    two: int
    tls: int
    certificate: str

    def target(self, version: str, tls: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        port = self.tls if tls is not None else self.two if version == "2" else self.clear
        return {"engine": "http", "host": "localhost", "port": port, "version": version, "tls": tls} | more


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@pytest.fixture(scope="module")
def nginx() -> Iterator[Nginx]:
    with server_directory(mode=0o755) as directory:
        clear, two, tls = free_ports(3)
        made = ["openssl", "req", "-x509", *KEY, "-nodes", "-days", "2", "-subj", "/CN=localhost"]
        made += ["-addext", "subjectAltName=DNS:localhost", "-keyout", "own.key", "-out", "own.crt"]
        subprocess.run(made, cwd=directory, check=True, capture_output=True)
        (directory / "long").write_bytes(b"x" * LONG)
        path = directory / "nginx.conf"
        path.write_text(CONFIGURATION.format(directory=directory, clear=clear, two=two, tls=tls))
        process = subprocess.Popen([str(NGINX), "-c", str(path), "-g", "daemon off;"])
        try:
            while True:
                assert process.poll() is None, (directory / "error.log").read_text()
                try:
                    socket.create_connection(("127.0.0.1", tls)).close()
                    break
                except ConnectionRefusedError:
                    time.sleep(0.02)
            yield Nginx(clear, two, tls, str(directory / "own.crt"))
        finally:
            process.terminate()
            process.wait()


def facts(target: dict[str, Any]) -> dict[str, str]:
    task = {"kind": "inspect", "target": target}
    return dict(ask({"schema": PLAN, "seed": 1, "task": task}, FactsRead, 60).engine.settings)


def measured(target: dict[str, Any], path: str, **task: Any) -> TrialResult:
    protocol = {"from": "header", "name": "x-protocol"}
    asked = {"method": "GET", "path": [path], "take": [protocol, {"from": "body"}]}
    plan = {
        "kind": "trial",
        "target": target,
        "clients": 3,
        "window": {"transactions": 20},
        "statements": [{"name": "r", "sql": "", "request": asked}],
        "transactions": [{"name": "t", "steps": [{"do": "execute", "statement": 0, "into": ["protocol", "body"]}]}],
    }
    return ask({"schema": PLAN, "seed": 1, "task": plan | task}, TrialResult, 60)


@pytest.mark.parametrize("version", ["1.1", "2"])
@pytest.mark.parametrize("encrypted", [False, True])
def test_each_version_is_spoken_in_the_clear_and_over_tls(nginx: Nginx, version: str, encrypted: bool) -> None:
    tls = {"mode": "verify-full", "roots": nginx.certificate} if encrypted else None
    target = nginx.target(version, tls)
    told = facts(target)
    assert told["version"] == version
    assert told.get("tls", "").startswith("TLSv1") == encrypted
    # The service ends each connection after some requests: no request is lost by that.
    result = measured(target, "/")
    assert (result.accounting.ok, result.accounting.failed) == (60, {})
    assert result.observed is not None
    assert result.observed.counters["connections"] >= 60 / 5
    assert measured(target, "/long", window={"transactions": 4}).accounting.ok == 12
    failed = measured(target, "/missing")
    assert failed.accounting.failed == {"status": 60}
    assert "404 (Not Found) with the body `none such`" in failed.failures["status"]


@pytest.mark.parametrize("version", ["1.1", "2"])
def test_the_version_that_was_asked_for_is_spoken(nginx: Nginx, version: str) -> None:
    when = {"do": "when", "left": {"kind": "variable", "name": "protocol"}, "compare": "eq", "then": []}
    right = {"kind": "constant", "value": "HTTP/2.0" if version == "2" else "HTTP/1.1"}
    ask_first = {"do": "execute", "statement": 0, "into": ["protocol", "body"]}
    # Each transaction asks once more where the version is the one that is wanted.
    steps = [ask_first, when | {"right": right, "then": [{"do": "execute", "statement": 0}]}]
    result = measured(nginx.target(version), "/", transactions=[{"name": "t", "steps": steps}])
    assert result.statements["r"].executions == 2 * result.accounting.ok == 120


@pytest.mark.parametrize("version", ["1.1", "2"])
@pytest.mark.parametrize(
    ("tls", "host", "words"),
    [
        ({"mode": "verify-full"}, "localhost", "is self-signed and not in the system's certificates"),
        ({"mode": "verify-full", "roots": "own"}, "127.0.0.1", "not for `127.0.0.1`"),
        (None, "localhost", ""),
    ],
)
def test_a_certificate_is_looked_at(
    nginx: Nginx, version: str, tls: dict[str, Any] | None, host: str, words: str
) -> None:
    if tls is None:
        # Unless nobody wants to know.
        assert facts(nginx.target(version, {"mode": "require"}))["tls"].startswith("TLSv1")
        return
    tls = tls | ({"roots": nginx.certificate} if "roots" in tls else {})
    with pytest.raises(SystemFailed) as told:
        facts(nginx.target(version, tls, host=host))
    assert words in str(told.value)


def test_a_service_without_http_2_is_told(nginx: Nginx) -> None:
    target = nginx.target("2", port=nginx.clear)
    with pytest.raises(SystemFailed, match="HTTP/2"):
        facts(target)


def test_a_run_over_tls_says_so(cli: Cli, nginx: Nginx) -> None:
    text = 'name = "t"\ntitle = "t"\nrounds = 1\n[load]\nclients = 2\nstop = { transactions = 10 }\n'
    text += '[[transactions]]\nname = "t"\nsteps = [{ request = "GET /" }]\n'
    url = f"https://localhost:{nginx.tls}/?ca={nginx.certificate}&version=2"
    (cell,) = cli.run(cli.write("t.toml", text), "--system", url)["cells"]
    assert cell["system"]["name"] == url
    assert cell["system"]["version"].startswith("nginx/")
    assert cell["system"]["settings"]["tls"].startswith("TLSv1")
    assert cell["failed"] == {}


def test_the_client_is_checked_on_a_service(cli: Cli, nginx: Nginx) -> None:
    out = cli("check", f"http://localhost:{nginx.clear}/")
    assert "ok              many sessions work at once" in out
    assert "failed" not in out
