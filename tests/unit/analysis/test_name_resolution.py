"""What the name of a server's host costs its connections."""

import socket
import time
from typing import Any

import pytest

from dbdyno.analysis.document import build_document
from dbdyno.engines.server.named import resolution
from synthetic import run_record


def said(observations: list[dict[str, Any]]) -> list[str]:
    """What a run says that observed these."""
    document = build_document(run_record({}, observations=observations), [])
    return [each.text for each in document.findings]


def test_a_name_whose_first_address_answers_costs_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert resolution("x", "127.0.0.1", listener.getsockname()[1]) == []
    assert resolution("x", "/run/postgresql", 5432) == []
    assert resolution("x", "nowhere.invalid", 5432) == []


def test_a_slow_name_is_told_and_a_slow_moment_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = socket.getaddrinfo
    waits: list[float] = []

    def resolve(*arguments: Any, **options: Any) -> list[Any]:
        time.sleep(waits.pop())
        return looked(*arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        for slow, told in (([0.0, 0.0, 0.05], False), ([0.05, 0.05, 0.05], True)):
            waits[:] = slow
            seen = resolution("x", "127.0.0.1", listener.getsockname()[1])
            assert [each["seconds"] >= 0.05 for each in seen] == [True] * int(told)
            assert [text for text in said(seen) if "each new connection repeats it" in text] == said(seen)


def test_a_name_whose_first_address_is_dead_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(_host: str, port: int, **_: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in ("127.0.0.9", "127.0.0.1")]

    with socket.create_server(("127.0.0.1", 0)) as listener:
        monkeypatch.setattr(socket, "getaddrinfo", resolve)
        (text,) = said(resolution("mysql://db/", "db", listener.getsockname()[1]))
    assert text.startswith("mysql://db/: `db` resolves to 127.0.0.9 first, which does not answer")
    assert text.endswith("before it tries 127.0.0.1. Write that in the URL.")
