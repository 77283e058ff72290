"""What can be set on SQLite: how the library is built and started, how a connection is opened, and PRAGMAs."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from dbdyno.base.errors import InputError
from dbdyno.model.plan.settings import DEFAULT, Scalar, Settings

_JOURNAL_MODE = "journal_mode"

# Those that decide what is synced, and when.
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

# A reader gives the value as it is set, or None where it does not fit; the text says what does.
Reader = tuple[Callable[[str], str | None], str]


def _one_of(*words: str) -> Reader:
    return lambda text: text.lower() if text.lower() in words else None, "one of " + ", ".join(words)


_WHOLE: Reader = (lambda text: text if re.fullmatch(r"-?[0-9]{1,18}", text) else None, "a whole number")
_COUNT: Reader = (lambda text: text if re.fullmatch(r"[0-9]{1,9}", text) else None, "a whole number from 0")
_SWITCH: Reader = (lambda text: _TRUTH.get(text.lower()), "on or off")
_TEXT: Reader = (lambda text: text, "a text")

_ENCODINGS = {"utf-8": "'UTF-8'", "utf-16": "'UTF-16'", "utf-16le": "'UTF-16le'", "utf-16be": "'UTF-16be'"}

# Settings that are no PRAGMA.
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

# PRAGMAs that decide the bytes of a file and must be given before its first table is made, in this order.
_LOAD_PRAGMAS: dict[str, Reader] = {
    "page_size": _one_of(*_SIZES),
    "encoding": (lambda text: _ENCODINGS.get(text.lower().strip("'\"")), "one of UTF-8, UTF-16, UTF-16le, UTF-16be"),
    "auto_vacuum": _one_of("none", "full", "incremental", "0", "1", "2"),
    "application_id": _WHOLE,
    "user_version": _WHOLE,
}

# PRAGMAs of a trial: each connection is given them, or the file that it works on.
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
    """The settings of one system, checked. ``None`` and empty: not set.

    ``load_pragmas`` decide the bytes of the file, ``trial_pragmas`` are those of a trial: names and values in the form
    SQLite takes. ``cflags`` are the compiler's options, in which ``library_threading`` is not contained.
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
    def of_files(self) -> tuple[tuple[str, str], ...]:
        """The PRAGMAs that decide the bytes of the file."""
        return self.load_pragmas

    def shown(self) -> Iterator[tuple[str, str]]:
        """Give what is set: of the library, then of connections."""
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
        """Those that decide what is synced of what is written, and when."""
        return tuple(sorted((name, value) for name, value in self.trial_pragmas if name in _DECIDE_SYNCS))

    @property
    def leaves_behind(self) -> bool:
        """Whether a transaction may be over before all that it wrote is synced."""
        return dict(self.syncing).get("synchronous", "full").lower() not in ("full", "extra", "2", "3")

    @property
    def of_library(self) -> tuple[str | int | None, ...]:
        """Those that decide which library it is, and nothing else."""
        return (self.library, self.source, self.cflags, self.library_threading)

    @property
    def file_pragmas(self) -> tuple[tuple[str, str], ...]:
        """Those of a trial that the file keeps: whether it has a write-ahead log.

        Connections that change that at the same time keep each other out, whatever their busy timeout.
        """
        modes = [value for name, value in self.trial_pragmas if name == _JOURNAL_MODE]
        return tuple((_JOURNAL_MODE, "wal" if value == "wal" else "delete") for value in modes)

    @property
    def connection_pragmas(self) -> tuple[tuple[str, str], ...]:
        """Those of a trial that each connection is given, since it has them for itself alone."""
        return tuple(pair for pair in self.trial_pragmas if pair not in self.file_pragmas)

    @property
    def is_single_threaded(self) -> str | None:
        """The setting that makes the library unsafe for several threads, or ``None``."""
        if self.library_threading == 0:
            return "library_threading=0"
        if self.library_threading is None and re.search(r"-DSQLITE_THREADSAFE=0\b", self.cflags or ""):
            return "cflags=-DSQLITE_THREADSAFE=0"
        return "config_threading=single" if self.config_threading == "single" else None


# What a PRAGMA says of itself in numbers, by the words that set it.
_WORDS = {
    "auto_vacuum": {"none": "0", "full": "1", "incremental": "2"},
    "case_sensitive_like": {"off": "0", "on": "1"},
    "secure_delete": {"fast": "2"},
    "synchronous": {"off": "0", "normal": "1", "full": "2", "extra": "3"},
    "temp_store": {"file": "1", "memory": "2"},
}

# Those of which all numbers below a least one are the same, with what is read back of them.
_LEAST = {"journal_size_limit": -1, "wal_autocheckpoint": 0}


def in_force(name: str, asked: str, found: str | None) -> bool | None:
    """Whether a PRAGMA is what was asked for; ``found``: what was read back, ``None`` where SQLite does not know it.

    ``None``: it is no PRAGMA, and the library does not tell.
    """
    if name not in _LOAD_PRAGMAS and name not in _TRIAL_PRAGMAS:
        return None
    if found is None:
        return False
    wanted, read = _said(name, asked), _said(name, found)
    if name == "encoding":
        # UTF-16 is the machine's own of the two.
        return read == wanted or (wanted == "utf-16" and read.startswith(wanted))
    if name == "cache_spill" and wanted == "1":
        # What is on is told as the number of pages from which it is done.
        return read != "0"
    return read == wanted


def _said(name: str, value: str) -> str:
    text = value.lower().strip("'")
    if name in _LEAST and re.fullmatch("-?[0-9]+", text):
        return str(max(int(text), _LEAST[name]))
    return _WORDS.get(name, {}).get(text, text)


# Where what is no PRAGMA is set.
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
    """Give what sets each setting: a PRAGMA, which most connections need anew, or where else it is set."""
    for name, value in settings.items():
        yield _WHERE[name].format(value) if name in _WHERE else f"PRAGMA {name} = {value};"


def sets_syncing(statement: str) -> bool:
    """Whether a statement names a PRAGMA that decides what is synced."""
    text = statement.lower()
    return "pragma" in text and any(name in text for name in _DECIDE_SYNCS)


def read_settings(settings: Mapping[str, Scalar], place: str) -> SqliteSettings:
    """Check settings by name. Raises InputError that begins with ``place`` for an unknown name or value."""
    values: dict[str, str] = {}
    for name, value in settings.items():
        text = ("on" if value else "off") if isinstance(value, bool) else str(value)
        if name not in _READERS:
            raise InputError(f"{place}: {name}", "SQLite has no such setting", _nearest(name))
        if text == DEFAULT:
            continue
        read, wanted = _READERS[name]
        read_value = read(text)
        if read_value is None:
            raise InputError(f"{place}: {name}", f"`{text}` is not {wanted}", f"give {wanted}")
        values[name] = read_value
    if "library" in values and {"source", "cflags", "library_threading"} & values.keys():
        problem = "a library is given, so that none is built"
        raise InputError(f"{place}: library", problem, "leave out `source`, `cflags` and `library_threading`")
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
    return f"did you mean `{close[0]}`?" if close else "`dbdyno` knows " + ", ".join(f"`{word}`" for word in NAMES)
