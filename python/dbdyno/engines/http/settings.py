"""How a service is connected to: the options of its URL."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from dbdyno.base.errors import InputError
from dbdyno.base.paths import expand_user
from dbdyno.model.experiment.validation import nearest
from dbdyno.model.plan.settings import Scalar, Settings

_SWITCH = {"on": True, "true": True, "1": True, "off": False, "false": False, "0": False}
_VERSIONS = {"1": "1.1", "1.1": "1.1", "2": "2", "2.0": "2"}
_KNOWN = ("keepalive", "version", "verify", "ca", "timeout")
_SHORTEST_S = 0.001
_LONGEST_S = 86_400.0

# Makes an error: of which option, what is wrong, and what would be right.
_Wrong = Callable[[str, str, str], InputError]


@dataclass(frozen=True)
class HttpSettings(Settings):
    """``verify``: whether certificates are looked at; ``ca``: a file with those that are believed, not the system's.

    ``timeout_s``: the seconds that a request may take. ``given``: what was set, as it is shown.
    """

    keepalive: bool = True
    version: str = "1.1"
    verify: bool = True
    ca: str | None = None
    timeout_s: float = 30.0
    given: Mapping[str, str] = field(default_factory=dict)

    def shown(self) -> Iterator[tuple[str, str]]:
        """Give what was set."""
        yield from self.given.items()


def read_settings(settings: Mapping[str, Scalar], place: str) -> HttpSettings:
    """Read the options of a service. Raises InputError that begins with ``place``."""
    given = {
        name: ("on" if value else "off") if isinstance(value, bool) else str(value) for name, value in settings.items()
    }

    def wrong(name: str, problem: str, hint: str) -> InputError:
        return InputError(f"{place}: {name}" if place else name, problem, hint)

    for name in given:
        if name not in _KNOWN:
            raise wrong(name, f"there is no option `{name}`", nearest(name, _KNOWN))

    def switch(name: str) -> bool:
        value = given.get(name, "on").lower()
        if value not in _SWITCH:
            raise wrong(name, f"`{value}` is neither on nor off", f"write `{name}=on` or `{name}=off`")
        return _SWITCH[value]

    version = _VERSIONS.get(given.get("version", "1.1"))
    if version is None:
        raise wrong("version", f"there is no version `{given['version']}` here", "write `1.1` or `2`")
    keepalive = switch("keepalive")
    if version == "2" and not keepalive:
        hint = 'use `version=1.1`, or `connect = "per-transaction"`'
        raise wrong("keepalive", "HTTP/2 keeps its connections", hint)
    return HttpSettings(
        keepalive=keepalive,
        version=version,
        verify=switch("verify"),
        ca=_file(given["ca"], wrong) if "ca" in given else None,
        timeout_s=_seconds(given["timeout"], wrong) if "timeout" in given else HttpSettings.timeout_s,
        given=given,
    )


def _seconds(text: str, wrong: _Wrong) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not _SHORTEST_S <= seconds <= _LONGEST_S:
        raise wrong("timeout", f"`{text}` is no number of seconds that a request may take", "write one, as `30`")
    return seconds


def _file(text: str, wrong: _Wrong) -> str:
    path = expand_user(text, "ca").absolute()
    if not path.is_file():
        raise wrong("ca", f"there is no file {path}", "name one with certificates (PEM)")
    return str(path)


def in_force(name: str, asked: str, found: str | None) -> bool | None:
    """Whether an option is what was asked for, by what was read back; ``None``: that cannot be told."""
    if found is None:
        return None
    if name == "version":
        return _VERSIONS.get(asked) == found
    if name == "keepalive":
        return _SWITCH.get(asked.lower()) == _SWITCH.get(found)
    if name == "timeout":
        return math.isclose(float(asked), float(found))
    return None
