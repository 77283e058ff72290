"""Running a program under callgrind, in the same surroundings each time."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from dbdyno.base.errors import SystemFailed, TrialFailed

# The simulated caches: bytes, ways, bytes of a line. Without them valgrind takes those of the machine it is on, and the
# misses would say more of that than of the code.
CACHES = {"I1": "32768,8,64", "D1": "32768,8,64", "LL": "8388608,16,64"}

_OLDEST = (3, 19)

# Valgrind makes a program some fifty times slower; what takes longer than this is asked too much.
LONGEST_S = 3600.0


def valgrind_version() -> str:
    """Give valgrind's version. Raises SystemFailed where it is not there, or older than 3.19."""
    path = shutil.which("valgrind")
    if path is None:
        raise SystemFailed("valgrind is not installed: install it, as with `apt install valgrind`")
    said = subprocess.run(
        [path, "--version"], capture_output=True, encoding="utf-8", errors="replace", check=False
    ).stdout.strip()
    found = re.match(r"valgrind-(\d+)\.(\d+)", said)
    if found is None or (int(found[1]), int(found[2])) < _OLDEST:
        raise SystemFailed(f"`valgrind --version` says `{said}`: 3.19 or newer is needed")
    return said.removeprefix("valgrind-")


def run_counted(command: Sequence[str | Path], directory: Path, out: Path, entry: str, whole: bool) -> str:
    """Run a command under callgrind in a directory; return its standard output, and leave the count in ``out``.

    ``entry``: what it gets on standard input; ``whole``: the program is counted from its start to its end, and not only
    where it asks for it itself. Its environment is empty. Raises SystemFailed and TrialFailed.
    """
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise SystemFailed("valgrind is not installed: install it, as with `apt install valgrind`")
    caches = [f"--{name}={size}" for name, size in CACHES.items()]
    at_start = "yes" if whole else "no"
    options = ["--tool=callgrind", "--quiet", "--cache-sim=yes", *caches, f"--collect-atstart={at_start}"]
    # What decides the form of the file is named, whatever its default is.
    options += ["--dump-line=yes", "--dump-instr=no", "--separate-threads=no", f"--callgrind-out-file={out}"]
    # Where valgrind itself lies, if somebody had to say so; it is no setting of the program.
    environment = {name: os.environ[name] for name in ("VALGRIND_LIB",) if name in os.environ}
    try:
        done = subprocess.run(
            [valgrind, *options, *map(str, command)],
            input=entry,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            cwd=directory,
            env=environment,
            timeout=LONGEST_S,
        )
    except subprocess.TimeoutExpired:
        raise TrialFailed(f"counting took longer than {LONGEST_S:g} s: ask for less work") from None
    if done.returncode != 0:
        raise TrialFailed(_ending(Path(command[0]).name, done.returncode, done.stdout + done.stderr))
    return done.stdout


def _ending(name: str, code: int, said: str) -> str:
    """Say how a program ended under valgrind, and what was said last: by the program, else by valgrind."""
    lines = [line for line in said.strip().splitlines() if line.strip("=- 0123456789")]
    # Lines of valgrind's own begin with the number of the process: `==123==`, `--123--`.
    own = [line for line in lines if not re.match(r"(==|--)\d+(==|--)", line)]
    signals = [found[1] for line in lines if (found := re.search(r"default action of signal (\d+ \(\w+\))", line))]
    if signals:
        return f"{name} was ended by signal {signals[0]} under valgrind"
    told = f": {own[-1]}" if own else " and said nothing"
    return f"{name} ended with code {code} under valgrind{told}"
