"""Processes that do the same thing at the same moment, and import once what they need."""

import json
import os
import subprocess
import sys
import traceback


def environment() -> dict[str, str]:
    """That of a Python that imports what the tests do."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def at_once(number: int, imports: str, does: str) -> list[str]:
    """Run ``does`` in so many processes; give what each printed.

    Each waits at ``together()`` until all have come there. Raises AssertionError with what a process said that failed.
    """
    asked = {"number": number, "imports": imports, "does": does}
    done = subprocess.run(
        [sys.executable, __file__],
        input=json.dumps(asked),
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=120,
    )
    told: list[tuple[int, str]] = json.loads(done.stdout)
    assert [code for code, _ in told] == [0] * number, "\n".join(text for _, text in told)
    return [text for _, text in told]


def _main() -> None:
    asked = json.load(sys.stdin)
    names: dict[str, object] = {}
    exec(asked["imports"], names)
    ready, go = os.pipe(), os.pipe()
    started = []
    for _ in range(asked["number"]):
        out = os.pipe()
        process = os.fork()
        if process == 0:
            os.close(go[1])
            os.dup2(out[1], 1)
            code = _one(names, asked["does"], ready[1], go[0])
            sys.stdout.flush()
            os._exit(code)
        os.close(out[1])
        started.append((process, out[0]))
    # Who fails before says so too, and is not waited for.
    waited_for = asked["number"]
    while waited_for:
        waited_for -= len(os.read(ready[0], waited_for))
    os.close(go[1])
    told = []
    for process, out_end in started:
        with os.fdopen(out_end, encoding="utf-8") as file:
            text = file.read()
        told.append((os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), text))
    json.dump(told, sys.stdout)


def _one(names: dict[str, object], does: str, ready: int, go: int) -> int:
    came: list[bool] = []

    def together() -> None:
        came.append(True)
        os.write(ready, b"1")
        os.read(go, 1)

    try:
        exec(does, {**names, "together": together})
    except BaseException:
        traceback.print_exc(file=sys.stdout)
        return 1
    finally:
        if not came:
            os.write(ready, b"1")
    return 0


if __name__ == "__main__":
    _main()
