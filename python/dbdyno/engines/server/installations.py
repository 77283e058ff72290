"""Find the database servers installed on this machine."""

import re
import shutil
from pathlib import Path

from dbdyno.base.errors import InputError
from dbdyno.engines.server.launch import family_of
from dbdyno.engines.server.programs import Installation


def find_installations(engine: str) -> list[Installation]:
    """Return the installed servers of an engine, newest version first.

    Servers that don't report a version, or that lack a required program, are left out. Servers of the same version are
    in the order of the PATH.
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


def installation_of(engine: str, program: str, location: str) -> Installation:
    """Return the installation of an engine whose server is ``program``: a path, or a name on the PATH.

    Raises InputError at ``location`` if the program doesn't exist or is not a server of the engine.
    """
    # If the name contains a slash, which() checks only that path.
    path = shutil.which(program)
    if path is None:
        found = ", ".join(f"`{find_installation.server}`" for find_installation in find_installations(engine))
        hint = f"give the path of a server; found here: {found}" if found else how_to_install(engine)
        raise InputError(f"{location}: program", f"`{program}`: not an executable file", hint)
    installation = family_of(engine).describe(Path(path).absolute())
    if installation is None:
        problem = f"`{path}` is not a {engine} server, or programs that it requires are missing"
        raise InputError(f"{location}: program", problem, family_of(engine).PROGRAMS)
    return installation


def how_to_install(engine: str) -> str:
    """Return how to install a server of an engine, a clause."""
    return family_of(engine).INSTALL


def _order(version: str) -> tuple[int, ...]:
    """Return a sort key for a version. A beta such as ``16beta1`` comes before its release."""
    numbers = tuple(int(number) for number in re.findall(r"\d+", re.split(r"[a-z-]", version, maxsplit=1)[0]))
    return (*numbers, -1) if re.search(r"alpha|beta|rc|devel", version) else numbers
