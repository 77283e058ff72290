"""The process that draws charts, so that a crash of the chart library affects only one chart.

The library runs a JavaScript engine, whose errors can end the process. The process reads each chart as one line of
JSON and writes one line back: the SVG, or the PNG in base64. It ends at the end of its input.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import subprocess
import sys
import time
from typing import Any

# Timeout in seconds for one chart, including the start of the library.
_TIMEOUT_S = 60.0


class _Renderer:
    """The drawing process, started for the first chart."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def render(self, request: dict[str, Any]) -> str | None:
        """Return the library's output for a request; None if it fails."""
        try:
            process = self._running()
            assert process.stdin is not None and process.stdout is not None  # noqa: S101
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            line = _read_line(process.stdout.fileno())
        except OSError:
            line = b""
        if not line:
            self._end()
            return None
        answer: str | None = json.loads(line)
        return answer

    def _running(self) -> subprocess.Popen[bytes]:
        if self._owner != os.getpid():
            # After a fork the process belongs to the parent.
            self._process, self._owner = None, os.getpid()
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                # Keep Ctrl-C on the terminal away from it.
                start_new_session=True,
            )
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()


_renderer = _Renderer()


def vegalite_to_svg(chart: dict[str, Any]) -> str | None:
    """Return a Vega-Lite chart as SVG; None if the library fails on it."""
    return _renderer.render({"chart": chart})


def svg_to_png(svg: str) -> bytes | None:
    """Return an SVG as a PNG of twice its size; None if the library fails on it."""
    encoded = _renderer.render({"svg": svg})
    return None if encoded is None else base64.b64decode(encoded)


def _read_line(descriptor: int) -> bytes:
    """Read one line; empty if the process ends or exceeds the timeout."""
    end = time.monotonic() + _TIMEOUT_S
    line = b""
    while not line.endswith(b"\n"):
        ready, _, _ = select.select([descriptor], [], [], max(end - time.monotonic(), 0.0))
        content = os.read(descriptor, 1 << 20) if ready else b""
        if not content:
            return b""
        line += content
    return line


def _serve() -> None:
    import vl_convert

    for line in sys.stdin.buffer:
        request = json.loads(line)
        try:
            if "svg" in request:
                answer = base64.b64encode(vl_convert.svg_to_png(request["svg"], scale=2)).decode()
            else:
                answer = vl_convert.vegalite_to_svg(request["chart"], allowed_base_urls=[])
        except Exception:
            answer = None
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
