"""The process that draws charts, so that a crash of the chart library costs one chart and nothing else.

The library runs a JavaScript engine and ends its whole process if something goes wrong there. The process reads a chart
as one line of JSON and writes its SVG, or PNG in base64, as another; it ends when its input does.
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

# Seconds for one chart, and for the library to start.
_LONGEST_S = 60.0


class _Renderer:
    """One such process, started when the first chart is drawn."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def render(self, request: dict[str, Any]) -> str | None:
        """Return what the library makes of a request; None if it fails."""
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
                # Ctrl-C on the terminal must not reach it.
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
    """Read up to the end of a line; nothing if the process ends or takes too long."""
    end = time.monotonic() + _LONGEST_S
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
