"""SQLite's settings: how the library is built and started, how connections are opened, and PRAGMAs."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from dbdyno.base.errors import InputError
from dbdyno.model.plan.settings import DEFAULT, Scalar, Settings

_JOURNAL_MODE = "journal_mode"

# PRAGMAs that determine which writes are synced, and when.
_DECIDE_SYNCS = (
    _JOURNAL_MODE,
    "synchronous",
    "fullfsync",
    "checkpoint_fullfsync",
    "wal_autocheckpoint",
    "locking_mode",
)

_TRUTH = {"1": "1", "on": "1", "true": "1", "yes": "1", "0": "0", "off": "0", "false": "0", "no": "0"}
_SIZES = tuple(str(2**power) for power in range(9, 17))
_JOURNALS = ("delete", "truncate", "persist", "memory", "wal", "off")

# A parser that returns the value in SQLite's form, or None if it is invalid; and a description of valid values.
Reader = tuple[Callable[[str], str | None], str]


def _one_of(*words: str) -> Reader:
    return lambda text: text.lower() if text.lower() in words else None, "one of " + ", ".join(words)


_WHOLE: Reader = (lambda text: text if re.fullmatch(r"-?[0-9]{1,18}", text) else None, "an integer")
_COUNT: Reader = (lambda text: text if re.fullmatch(r"[0-9]{1,9}", text) else None, "an integer of at least 0")
_SWITCH: Reader = (lambda text: _TRUTH.get(text.lower()), "on or off")
_TEXT: Reader = (lambda text: text, "a string")

_ENCODINGS = {"utf-8": "'UTF-8'", "utf-16": "'UTF-16'", "utf-16le": "'UTF-16le'", "utf-16be": "'UTF-16be'"}

# Settings that are not PRAGMAs.
_OWN: dict[str, Reader] = {
    "cache": _one_of("private", "shared"),
    "open_mutex": _one_of("nomutex", "fullmutex"),
    "config_threading": _one_of("single", "multi", "serialized"),
    "library_threading": _one_of("0", "1", "2"),
    "source": _TEXT,
    "cflags": _TEXT,
    "library": _TEXT,
    "busy_timeout": _COUNT,
}

# PRAGMAs that determine a file's bytes. They must be executed before its first table is created, in this order.
_LOAD_PRAGMAS: dict[str, Reader] = {
    "page_size": _one_of(*_SIZES),
    "encoding": (lambda text: _ENCODINGS.get(text.lower().strip("'\"")), "one of UTF-8, UTF-16, UTF-16le, UTF-16be"),
    "auto_vacuum": _one_of("none", "full", "incremental", "0", "1", "2"),
    "application_id": _WHOLE,
    "user_version": _WHOLE,
}

# PRAGMAs of a trial, applied to each connection or to the trial's file.
_TRIAL_PRAGMAS: dict[str, Reader] = {
    "analysis_limit": _COUNT,
    "automatic_index": _SWITCH,
    "cache_size": _WHOLE,
    "cache_spill": (lambda text: _TRUTH.get(text.lower()) or _WHOLE[0](text), "on, off or a number of pages"),
    "case_sensitive_like": _SWITCH,
    "cell_size_check": _SWITCH,
    "checkpoint_fullfsync": _SWITCH,
    "defer_foreign_keys": _SWITCH,
    "foreign_keys": _SWITCH,
    "fullfsync": _SWITCH,
    "hard_heap_limit": _WHOLE,
    "ignore_check_constraints": _SWITCH,
    _JOURNAL_MODE: _one_of(*_JOURNALS),
    "journal_size_limit": _WHOLE,
    "locking_mode": _one_of("normal", "exclusive"),
    "max_page_count": _WHOLE,
    "mmap_size": _WHOLE,
    "query_only": _SWITCH,
    "read_uncommitted": _SWITCH,
    "recursive_triggers": _SWITCH,
    "reverse_unordered_selects": _SWITCH,
    "secure_delete": (lambda text: "fast" if text.lower() == "fast" else _TRUTH.get(text.lower()), "on, off or fast"),
    "soft_heap_limit": _WHOLE,
    "synchronous": _one_of("off", "normal", "full", "extra", "0", "1", "2", "3"),
    "temp_store": _one_of("file", "memory", "0", "1", "2"),
    "threads": _COUNT,
    "trusted_schema": _SWITCH,
    "wal_autocheckpoint": _WHOLE,
}

_READERS = _OWN | _LOAD_PRAGMAS | _TRIAL_PRAGMAS
NAMES: tuple[str, ...] = tuple(_READERS)


@dataclass(frozen=True)
class SqliteSettings(Settings):
    """The checked settings of one system. ``None`` and empty: not set.

    ``load_pragmas`` determine the bytes of the file; ``trial_pragmas`` apply to trials. Both are names and values in
    SQLite's form. ``cflags``: the compiler's options, without ``library_threading``.
    """

    cache: str | None = None
    open_mutex: str | None = None
    config_threading: str | None = None
    library_threading: int | None = None
    source: str | None = None
    cflags: str | None = None
    library: str | None = None
    busy_timeout_ms: int = 0
    load_pragmas: tuple[tuple[str, str], ...] = ()
    trial_pragmas: tuple[tuple[str, str], ...] = ()

    @property
    def file_settings(self) -> tuple[tuple[str, str], ...]:
        """The PRAGMAs that determine the bytes of the file."""
        return self.load_pragmas

    def shown(self) -> Iterator[tuple[str, str]]:
        """Yield the settings: first the library's, then the connections'."""
        for name in ("library", "source", "cflags", "library_threading", "config_threading", "cache", "open_mutex"):
            value = getattr(self, name)
            if value is not None:
                yield name, str(value)
        if self.busy_timeout_ms:
            yield "busy_timeout", str(self.busy_timeout_ms)
        yield from self.load_pragmas
        yield from self.trial_pragmas

    @property
    def syncing(self) -> tuple[tuple[str, str], ...]:
        """The settings that determine which writes are synced, and when."""
        return tuple(sorted((name, value) for name, value in self.trial_pragmas if name in _DECIDE_SYNCS))

    @property
    def acknowledges_unsynced(self) -> bool:
        """Whether a transaction may be acknowledged before all its writes are synced."""
        return dict(self.syncing).get("synchronous", "full").lower() not in ("full", "extra", "2", "3")

    @property
    def of_library(self) -> tuple[str | int | None, ...]:
        """The settings that determine the library."""
        return (self.library, self.source, self.cflags, self.library_threading)

    @property
    def file_pragmas(self) -> tuple[tuple[str, str], ...]:
        """The PRAGMA of a trial that is stored in the file: whether it has a write-ahead log.

        It is set before the trial: connections that change it concurrently fail, regardless of their busy timeout.
        """
        modes = [value for name, value in self.trial_pragmas if name == _JOURNAL_MODE]
        return tuple((_JOURNAL_MODE, "wal" if value == "wal" else "delete") for value in modes)

    @property
    def connection_pragmas(self) -> tuple[tuple[str, str], ...]:
        """The PRAGMAs of a trial that each connection executes, because they only affect that connection."""
        return tuple(pair for pair in self.trial_pragmas if pair not in self.file_pragmas)

    @property
    def single_threading_setting(self) -> str | None:
        """The setting that makes the library unsafe for several threads, or ``None``."""
        if self.library_threading == 0:
            return "library_threading=0"
        if self.library_threading is None and re.search(r"-DSQLITE_THREADSAFE=0\b", self.cflags or ""):
            return "cflags=-DSQLITE_THREADSAFE=0"
        return "config_threading=single" if self.config_threading == "single" else None


# Numbers that PRAGMAs return, by the words that set them.
_WORDS = {
    "auto_vacuum": {"none": "0", "full": "1", "incremental": "2"},
    "case_sensitive_like": {"off": "0", "on": "1"},
    "secure_delete": {"fast": "2"},
    "synchronous": {"off": "0", "normal": "1", "full": "2", "extra": "3"},
    "temp_store": {"file": "1", "memory": "2"},
}

# PRAGMAs for which all smaller numbers mean the same as the given one, which SQLite returns.
_MINIMUM = {"journal_size_limit": -1, "wal_autocheckpoint": 0}


def is_in_effect(name: str, asked: str, actual: str | None) -> bool | None:
    """Whether a PRAGMA has the requested value; ``actual``: the value read back, ``None`` if SQLite doesn't know it.

    ``None``: the setting is not a PRAGMA and can't be read back.
    """
    if name not in _LOAD_PRAGMAS and name not in _TRIAL_PRAGMAS:
        return None
    if actual is None:
        return False
    wanted, read = _said(name, asked), _said(name, actual)
    if name == "encoding":
        # UTF-16 means the machine's byte order.
        return read == wanted or (wanted == "utf-16" and read.startswith(wanted))
    if name == "cache_spill" and wanted == "1":
        # If it is on, SQLite returns the number of pages from which the cache spills.
        return read != "0"
    return read == wanted


def _said(name: str, value: str) -> str:
    text = value.lower().strip("'")
    if name in _MINIMUM and re.fullmatch("-?[0-9]+", text):
        return str(max(int(text), _MINIMUM[name]))
    return _WORDS.get(name, {}).get(text, text)


# Where settings other than PRAGMAs are set.
_WHERE = {
    "cache": "the file's URI: `file:…?cache={}`",
    "open_mutex": "a flag of sqlite3_open_v2: {}",
    "config_threading": "sqlite3_config: {}",
    "library_threading": "compiled in: SQLITE_THREADSAFE={}",
    "cflags": "compiled with: {}",
    "library": "the library: {}",
    "source": "the library's source: {}",
}


def applying(settings: Mapping[str, str]) -> Iterator[str]:
    """Yield how to apply each setting: a PRAGMA, usually needed for each connection, or another place."""
    for name, value in settings.items():
        yield _WHERE[name].format(value) if name in _WHERE else f"PRAGMA {name} = {value};"


def configuration(settings: Mapping[str, str], begins: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the options of Django and Rails that set PRAGMAs for each connection, and how transactions begin.

    Sources: Django documentation, SQLite notes; Rails guides, Configuring a SQLite3 Database.
    """
    pragmas = {name: value for name, value in settings.items() if name not in _WHERE}
    timeout = pragmas.pop("busy_timeout", None)
    django, rails = [], []
    if pragmas:
        django.append(f'"init_command": "{" ".join(f"PRAGMA {name}={value};" for name, value in pragmas.items())}"')
        rails.append("pragmas: {" + ", ".join(f"{name}: {value}" for name, value in pragmas.items()) + "}")
    if timeout is not None:
        django.append(f'"timeout": {int(timeout) / 1000:g}')
        rails.append(f"timeout: {timeout}")
    if begins:
        django.append(f'"transaction_mode": "{begins.upper()}"')
        rails.append(f"default_transaction_mode: {begins}")
    if django:
        yield "settings.py of Django 5.1", [f'"OPTIONS": {{{", ".join(django)}}}']
        yield "database.yml of Rails 7.2", rails


def sets_syncing(statement: str) -> bool:
    """Whether a statement contains a PRAGMA that determines syncing."""
    text = statement.lower()
    return "pragma" in text and any(name in text for name in _DECIDE_SYNCS)


def read_settings(settings: Mapping[str, Scalar], location: str) -> SqliteSettings:
    """Check settings by name. Raises InputError at ``location`` for an unknown name or an invalid value."""
    values: dict[str, str] = {}
    for name, value in settings.items():
        text = ("on" if value else "off") if isinstance(value, bool) else str(value)
        if name not in _READERS:
            raise InputError(f"{location}: {name}", f"unknown SQLite setting `{name}`", _nearest(name))
        if text == DEFAULT:
            continue
        read, wanted = _READERS[name]
        read_value = read(text)
        if read_value is None:
            raise InputError(f"{location}: {name}", f"`{text}` is not {wanted}", f"give {wanted}")
        values[name] = read_value
    if "library" in values and {"source", "cflags", "library_threading"} & values.keys():
        problem = "a library is given, so none is built"
        raise InputError(f"{location}: library", problem, "leave out `source`, `cflags` and `library_threading`")
    threading = values.get("library_threading")
    texts = ("cache", "open_mutex", "config_threading", "source", "cflags", "library")
    return SqliteSettings(
        **{name: values.get(name) for name in texts},
        library_threading=None if threading is None else int(threading),
        busy_timeout_ms=int(values.get("busy_timeout", "0")),
        load_pragmas=tuple((name, values[name]) for name in _LOAD_PRAGMAS if name in values),
        trial_pragmas=tuple((name, value) for name, value in values.items() if name in _TRIAL_PRAGMAS),
    )


def _nearest(name: str) -> str:
    import difflib

    close = difflib.get_close_matches(name, NAMES, 1, 0.6)
    return f"did you mean `{close[0]}`?" if close else "known: " + ", ".join(f"`{word}`" for word in NAMES)
