"""The lists of waits: what each that a server tells of means, by its class and event, for each version that has it.

A wait that is in no list is not known. Nothing is told from how its name begins.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from dbdyno.engines import engine_of_product
from dbdyno.engines.waits import WaitList

State = Literal["waiting", "away", "working", "unknown"]

# A version as far as it decides: `(9, 6)`, `(15,)`.
_Version = tuple[int, ...]

_VERSION = re.compile(r"(\d+)(?:\.(\d+))?")


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a session does that is seen in a wait. ``words``: a predicate.

    ``state``: ``waiting`` for what ``bottleneck`` names; ``away``, its client being at work; ``working``; or
    ``unknown``. ``about`` tells kinds of one bottleneck apart.
    """

    state: State
    words: str
    bottleneck: str = ""
    about: str = ""


NOT_KNOWN = Meaning("unknown", "waits for what is not known")


@dataclass(frozen=True, slots=True)
class _Entry:
    """A wait in a list, with the versions that have it: from the first to the last, where there is one."""

    wait: str
    first: _Version | None
    last: _Version | None
    meaning: Meaning

    def holds_for(self, version: _Version | None) -> bool:
        """Whether a version has it; one that is not known has all."""
        if version is None:
            return True
        # 15.8 is of the version 15, and 9.6.24 of 9.6.
        from_first = self.first is None or version >= self.first
        return from_first and (self.last is None or version[: len(self.last)] <= self.last)


def meaning_of(wait: str, product: str, version: str) -> Meaning:
    """Say what a wait means, by its name ``class:event``.

    ``product``: PostgreSQL, MariaDB or MySQL, as the server calls itself; ``version``: as it says it, such as ``15.8``.
    """
    number = _number(version)
    listed = engine_of_product(product).waits(product)
    found = _by_wait(product).get(_key(wait, listed), ()) if listed is not None else ()
    return next((entry.meaning for entry in found if entry.holds_for(number)), NOT_KNOWN)


def known_waits(product: str, version: str) -> Iterator[str]:
    """Give the names of all waits that the list has for a version."""
    number = _number(version)
    for entries in _by_wait(product).values():
        yield from (entry.wait for entry in entries if entry.holds_for(number))


@cache
def _by_wait(product: str) -> Mapping[str, tuple[_Entry, ...]]:
    listed = engine_of_product(product).waits(product)
    if listed is None:
        return {}
    found: dict[str, tuple[_Entry, ...]] = {}
    for group in tomllib.loads(listed.file.read_text(encoding="utf-8"))["groups"]:
        meaning = Meaning(group["state"], group["means"], group.get("bottleneck", ""), group.get("about", ""))
        for each in group["events"]:
            entry = _entry(each, meaning, versions=listed.versions)
            key = _key(entry.wait, listed)
            found[key] = (*found.get(key, ()), entry)
    return found


def _key(wait: str, listed: WaitList) -> str:
    """Write a wait as it is looked up."""
    return wait if listed.regards_case else wait.lower()


def _entry(text: str, meaning: Meaning, *, versions: bool) -> _Entry:
    """Read ``class:event`` and, where the list has versions, behind a space those that have it."""
    if not versions:
        return _Entry(text, None, None, meaning)
    wait, _, span = text.rpartition(" ")
    first, dash, last = span.partition("-")
    return _Entry(wait, _number(first), _number(last or ("" if dash else first)), meaning)


def _number(version: str) -> _Version | None:
    """Read a version: its first number, and of PostgreSQL before 10 the second too."""
    found = _VERSION.match(version)
    if found is None:
        return None
    major = int(found[1])
    return (major, int(found[2])) if major < 10 and found[2] is not None else (major,)
