"""Proxies that distribute requests to web servers: haproxy or nginx, as a supervised process."""

import os
import secrets
import shutil
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.base.errors import InputError, SystemFailed, reason
from dbdyno.engines.server.environment import environment
from dbdyno.engines.server.log import last_words
from dbdyno.engines.web.process import START_TIMEOUT_S, WebProcess, await_port
from dbdyno.runtime.supervisor.process import SupervisedProcess
from dbdyno.runtime.supervisor.task import Task
from dbdyno.runtime.workspace.processors import bound_to

# Directories where distributions install programs, but which may not be on a user's PATH.
_FURTHER = "/usr/local/sbin:/usr/sbin:/sbin"

BACKLOG = 1024
"""Default number of connections that may wait to be accepted; the web servers' default, too."""

# Maximum number of a proxy's connections, to clients and web servers together.
_CONNECTIONS = 8192

# Number of ports to try if another process takes the free port first.
_ATTEMPTS = 5


@dataclass(frozen=True)
class Proxy:
    """A kind of proxy. ``package``: the Debian package that contains it.

    ``configuration``: returns the configuration for parameters and the web servers' addresses. ``options``: returns the
    command-line options for the configuration file and the proxy's directory.
    """

    package: str
    configuration: Callable[["ProxyParameters", Sequence[str]], str]
    options: Callable[[Path, Path], Sequence[str]]


@dataclass(frozen=True)
class ProxyParameters:
    """Parameters of one proxy. ``own``: its own directory; ``processors``: the number of CPUs that it may use.

    ``backlog``: the number of connections that may wait to be accepted.
    """

    port: int
    own: Path
    processors: int
    backlog: int


def _haproxy(parameters: ProxyParameters, servers: Sequence[str]) -> str:
    listed = "\n".join(f"    server web{number} {address}" for number, address in enumerate(servers, 1))
    return f"""global
    maxconn {_CONNECTIONS}
    # If the machine allows fewer descriptors, haproxy accepts fewer connections instead of failing to start.
    no strict-limits
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    option forwardfor
    # A connection to a web server serves the next request of any client.
    http-reuse always
frontend web
    bind 127.0.0.1:{parameters.port}
    backlog {parameters.backlog}
    default_backend servers
backend servers
    balance roundrobin
{listed}
"""


def _nginx(parameters: ProxyParameters, servers: Sequence[str]) -> str:
    own = parameters.own
    listed = "\n".join(f"        server {address} max_fails=0;" for address in servers)
    return f"""daemon off;
pid {own}/pid;
error_log stderr;
worker_processes {parameters.processors};
events {{
    worker_connections {_CONNECTIONS};
}}
http {{
    access_log off;
    client_body_temp_path {own}/body;
    proxy_temp_path {own}/proxy;
    fastcgi_temp_path {own}/fastcgi;
    uwsgi_temp_path {own}/uwsgi;
    scgi_temp_path {own}/scgi;
    proxy_max_temp_file_size 0;
    upstream servers {{
{listed}
        # A connection to a web server serves the next request of any client.
        keepalive 256;
    }}
    server {{
        listen 127.0.0.1:{parameters.port} backlog={parameters.backlog};
        keepalive_requests 1000000000;
        location / {{
            proxy_pass http://servers;
            proxy_http_version 1.1;
            proxy_set_header connection "";
            proxy_set_header x-forwarded-for $remote_addr;
        }}
    }}
}}
"""


def _haproxy_options(file: Path, _own: Path) -> Sequence[str]:
    return ("-db", "-f", str(file))


def _nginx_options(file: Path, own: Path) -> Sequence[str]:
    return ("-p", str(own), "-e", "stderr", "-c", str(file))


PROXIES: Mapping[str, Proxy] = {
    "haproxy": Proxy("haproxy", _haproxy, _haproxy_options),
    "nginx": Proxy("nginx-light", _nginx, _nginx_options),
}
"""The kinds of proxies by name; the first is the default."""


def find_proxy(name: str, location: str) -> Path:
    """Return the path of a proxy's program. Raises InputError at ``location`` if it isn't installed."""
    path = os.environ.get("PATH", "")
    found = shutil.which(name, path=f"{path}{os.pathsep}{_FURTHER}" if path else _FURTHER)
    if found is None:
        others = [other for other in PROXIES if other != name and shutil.which(other, path=f"{path}:{_FURTHER}")]
        hint = f"install it (`apt install {PROXIES[name].package}`)"
        hint += "".join(f", or use `proxy={other}`, which is installed" for other in others)
        raise InputError(f"{location}: proxy", f"{name} is not installed", hint)
    return Path(found)


def start_proxy(
    name: str,
    program: Path,
    servers: Sequence[str],
    work: Path,
    *,
    held: int | None = None,
    processors: Sequence[int] | None = None,
    backlog: int = BACKLOG,
) -> WebProcess:
    """Start a proxy on a free port of the loopback interface, and return when it listens.

    ``servers``: the addresses of web servers. ``processors``: the CPUs that it is pinned to; it has one process or
    thread per CPU. ``None``: the CPUs that dbdyno may use; by default, nginx would count all of the machine's.
    ``backlog``: connections that may wait to be accepted. For the other parameters see
    :func:`dbdyno.engines.web.server.start_web_server`. Raises SystemFailed if it doesn't start.
    """
    kind = PROXIES[name]
    allowed = len(processors or os.sched_getaffinity(0))
    for attempt in range(1, _ATTEMPTS + 1):
        own = work.absolute() / f"proxy-{secrets.token_hex(4)}"
        port = _free_port()
        file = work.absolute() / f"{own.name}.conf"
        try:
            file.write_text(kind.configuration(ProxyParameters(port, own, allowed, backlog), servers), encoding="utf-8")
        except OSError as error:
            raise SystemFailed(f"{file}: {reason(error)}") from error
        task = Task(
            command=(*bound_to(processors), str(program), *kind.options(file, own)),
            environment=environment(),
            directory=str(work.absolute()),
            owner=None,
            stop=(signal.SIGTERM,),
            # nginx's main process must get a signal that it can handle, so that it stops its workers.
            death_signal=signal.SIGTERM,
            log=str(own / "log"),
            make=(str(own),),
            remove=(str(own),),
            abandoned=(str(file),),
        )
        try:
            kept = SupervisedProcess(task, held)
            try:
                ended = await_port(kept, port, START_TIMEOUT_S, name)
            except BaseException:
                kept.stop(0.0)
                raise
        finally:
            file.unlink(missing_ok=True)
        if ended is None:
            return WebProcess(kept, own / "log", f"127.0.0.1:{port}", name)
        kept.stop(0.0)
        if attempt == _ATTEMPTS or not _is_taken(port):
            raise SystemFailed(f"{name} does not start: {last_words(ended.output) or f'exit code {ended.code}'}")
    raise SystemFailed(f"{name} found no free port")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
        return False
