"""The options in a service's URL, which determine how to connect."""

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
_MIN_TIMEOUT_S = 0.001
_MAX_TIMEOUT_S = 86_400.0

# Creates an error from an option's name, the problem and a hint.
_Wrong = Callable[[str, str, str], InputError]


@dataclass(frozen=True)
class HttpSettings(Settings):
    """``verify``: whether to check certificates; ``ca``: a file with trusted CA certificates, instead of the system's.

    ``timeout_s``: time limit of a request in seconds. ``given``: the options as the user wrote them.
    """

    keepalive: bool = True
    version: str = "1.1"
    verify: bool = True
    ca: str | None = None
    timeout_s: float = 30.0
    given: Mapping[str, str] = field(default_factory=dict)

    def shown(self) -> Iterator[tuple[str, str]]:
        """Yield the options that the user set."""
        yield from self.given.items()


def read_settings(settings: Mapping[str, Scalar], location: str) -> HttpSettings:
    """Check the options of a service. Raises InputError at ``location``."""
    given = {
        name: ("on" if value else "off") if isinstance(value, bool) else str(value) for name, value in settings.items()
    }

    def wrong(name: str, problem: str, hint: str) -> InputError:
        return InputError(f"{location}: {name}" if location else name, problem, hint)

    for name in given:
        if name not in _KNOWN:
            raise wrong(name, f"unknown option `{name}`", nearest(name, _KNOWN))

    def switch(name: str) -> bool:
        value = given.get(name, "on").lower()
        if value not in _SWITCH:
            raise wrong(name, f"`{value}` is neither on nor off", f"write `{name}=on` or `{name}=off`")
        return _SWITCH[value]

    version = _VERSIONS.get(given.get("version", "1.1"))
    if version is None:
        raise wrong("version", f"unsupported HTTP version `{given['version']}`", "write `1.1` or `2`")
    keepalive = switch("keepalive")
    if version == "2" and not keepalive:
        hint = 'use `version=1.1`, or `connect = "per-transaction"`'
        raise wrong("keepalive", "HTTP/2 always keeps connections open", hint)
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
    if not _MIN_TIMEOUT_S <= seconds <= _MAX_TIMEOUT_S:
        raise wrong("timeout", f"`{text}` is not a number of seconds from 0.001 to 86400", "write e.g. `30`")
    return seconds


def _file(text: str, wrong: _Wrong) -> str:
    path = expand_user(text, "ca").absolute()
    if not path.is_file():
        raise wrong("ca", f"no such file: {path}", "name a file with certificates (PEM)")
    return str(path)


def is_in_effect(name: str, asked: str, actual: str | None) -> bool | None:
    """Whether an option has the requested value; ``actual``: the value read back. ``None``: unknown."""
    if actual is None:
        return None
    if name == "version":
        return _VERSIONS.get(asked) == actual
    if name == "keepalive":
        return _SWITCH.get(asked.lower()) == _SWITCH.get(actual)
    if name == "timeout":
        return math.isclose(float(asked), float(actual))
    return None
