"""Database servers that are installed on this machine."""

import re
import shutil
from pathlib import Path

from dbdyno.base.errors import InputError
from dbdyno.engines.server.launch import family_of
from dbdyno.engines.server.programs import Installation


def find_installations(engine: str) -> list[Installation]:
    """Give the servers of an engine to be started here.

    The newest comes first. One that does not say its version or lacks a program it needs is left out. Of equally new
    ones, the one that the PATH names first comes first.
    """
    found: dict[Path, Installation] = {}
    family = family_of(engine)
    for server in family.servers():
        resolved = server.resolve()
        if resolved not in found:
            installation = family.describe(server)
            if installation is not None:
                found[resolved] = installation
    return sorted(found.values(), key=lambda each: _order(each.version), reverse=True)


def installation_of(engine: str, program: str, place: str) -> Installation:
    """Give the installation of an engine whose server is ``program``: a path, or the name of one on the PATH.

    Raises InputError that begins with ``place`` where there is none, or it is no such server.
    """
    # With a slash in it, which looks at that path alone.
    path = shutil.which(program)
    if path is None:
        found = ", ".join(f"`{each.server}`" for each in find_installations(engine))
        hint = f"give the path of a server; found here: {found}" if found else how_to_install(engine)
        raise InputError(f"{place}: program", f"there is no program `{program}` that can be run", hint)
    installation = family_of(engine).describe(Path(path).absolute())
    if installation is None:
        problem = f"`{path}` does not say that it is a server of {engine}, or what it needs beside it is not there"
        raise InputError(f"{place}: program", problem, family_of(engine).PROGRAMS)
    return installation


def how_to_install(engine: str) -> str:
    """Give a clause on how to get a server of an engine that can be started here."""
    return family_of(engine).INSTALL


def _order(version: str) -> tuple[int, ...]:
    """Bring versions in order: ``16beta1`` and ``16.1`` are 16 and 16.1, a beta being before its first release."""
    numbers = tuple(int(number) for number in re.findall(r"\d+", re.split(r"[a-z-]", version, maxsplit=1)[0]))
    return (*numbers, -1) if re.search(r"alpha|beta|rc|devel", version) else numbers
