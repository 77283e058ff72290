"""Meanings of the waits that servers report, by class, event and server version.

A wait that isn't listed is unknown; its name is not interpreted.
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

# The part of a version that matters: `(9, 6)`, `(15,)`.
_Version = tuple[int, ...]

_VERSION = re.compile(r"(\d+)(?:\.(\d+))?")


@dataclass(frozen=True, slots=True)
class Meaning:
    """The activity of a session in a wait. ``words``: a predicate.

    ``state``: ``waiting`` for ``bottleneck``; ``away`` while its client works; ``working``; or ``unknown``. ``about``
    distinguishes kinds of one bottleneck.
    """

    state: State
    words: str
    bottleneck: str = ""
    about: str = ""


NOT_KNOWN = Meaning("unknown", "waits for an unknown reason")


@dataclass(frozen=True, slots=True)
class _Entry:
    """A listed wait with the first and the last server version that have it."""

    wait: str
    first: _Version | None
    last: _Version | None
    meaning: Meaning

    def holds_for(self, version: _Version | None) -> bool:
        """Whether a version has the wait; an unknown version has all waits."""
        if version is None:
            return True
        # 15.8 belongs to version 15, and 9.6.24 to 9.6.
        from_first = self.first is None or version >= self.first
        return from_first and (self.last is None or version[: len(self.last)] <= self.last)


def meaning_of(wait: str, product: str, version: str) -> Meaning:
    """Return the meaning of a wait named ``class:event``.

    ``product``, ``version``: as the server reports them, such as PostgreSQL and ``15.8``.
    """
    number = _number(version)
    listed = engine_of_product(product).waits(product)
    entries = _by_wait(product).get(_key(wait, listed), ()) if listed is not None else ()
    return next((entry.meaning for entry in entries if entry.holds_for(number)), NOT_KNOWN)


def known_waits(product: str, version: str) -> Iterator[str]:
    """Yield the names of all waits that are listed for a version."""
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
        for event in group["events"]:
            entry = _entry(event, meaning, versions=listed.versions)
            key = _key(entry.wait, listed)
            found[key] = (*found.get(key, ()), entry)
    return found


def _key(wait: str, listed: WaitList) -> str:
    return wait if listed.regards_case else wait.lower()


def _entry(text: str, meaning: Meaning, *, versions: bool) -> _Entry:
    """Parse ``class:event``, followed by a space and a range of versions if the list has versions."""
    if not versions:
        return _Entry(text, None, None, meaning)
    wait, _, span = text.rpartition(" ")
    first, dash, last = span.partition("-")
    return _Entry(wait, _number(first), _number(last or ("" if dash else first)), meaning)


def _number(version: str) -> _Version | None:
    """Parse the first two numbers of a version, or the only one."""
    match = _VERSION.match(version)
    return None if match is None else tuple(int(number) for number in match.groups() if number is not None)
