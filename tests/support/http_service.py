"""A small HTTP service for tests, not fast: its own process, which can be stopped. It prints its port.

`GET /status/503` answers with that status, `GET /refused/full` with 503 and that word, `GET /item/5?q=x` with JSON
and a cookie, `POST /login` with a token where name and password are those, and `GET /private` asks for that token.
Anything else is not found.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

TOKEN = "t0k/en="


class Service(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self, status: int, body: object = None, **headers: str) -> None:
        content = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        match url.path.strip("/").split("/"):
            case ["status", status]:
                self._answer(int(status), {"status": int(status)})
            case ["refused", word]:
                self._answer(503, {"error": word})
            case ["items", name]:
                self._answer(200, {"id": int(name), "related": [] if int(name) % 2 else [1 + int(name) // 2]})
            case ["search"]:
                self._answer(200, {"found": parse_qs(url.query)["q"]})
            case ["item", name]:
                found = {"path": name, "query": parse_qs(url.query), "odd": 'a"b', "list": [{"id": 7}]}
                self._answer(200, found, set_cookie="seen=yes; Path=/")
            case ["private"] if self.headers.get("authorization") == f"Bearer {TOKEN}":
                self._answer(200, {"private": True})
            case ["private"]:
                self._answer(401, {"wrong": self.headers.get("authorization")})
            case _:
                self._answer(404)

    do_HEAD = do_GET  # noqa: N815

    def do_POST(self) -> None:
        given = json.loads(self.rfile.read(int(self.headers["content-length"])) or b"null")
        if given == {"user": "user 3", "password": 'it\'s "right"', "tries": 1}:
            self._answer(201, {"session": {"token": TOKEN}})
        else:
            self._answer(403, given)


class Server(ThreadingHTTPServer):
    request_queue_size = 1024
    daemon_threads = True


@contextmanager
def service() -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Start a service; give its process and port."""
    process = subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process, int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


if __name__ == "__main__":
    with Server(("127.0.0.1", 0), Service) as server:
        sys.stdout.write(f"{server.server_address[1]}\n")
        sys.stdout.flush()
        server.serve_forever()
