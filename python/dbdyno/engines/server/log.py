"""What a server's log says of why it did not start, or did not take a setting."""

import re
from collections.abc import Iterable, Mapping

# The two families write `2024-01-01 12:00:00.000 UTC [7] FATAL:  words` and `2024-01-01 12:00:00 0 [ERROR] words`.
# PostgreSQL says `postgres: words` before it has a log.
_SEVERITY = re.compile(
    r"\b(?P<level>FATAL|PANIC|ERROR|DETAIL|HINT):\s+(?P<words>.*)|"
    r"\[(?P<mark>ERROR|Warning)\]\s+(?:\[[^\]]*\]\s+)*(?P<text>.*)|"
    r"^postgres: (?P<first>.*)"
)
_ADJUSTED = re.compile(r"option '(?P<name>[^']+)': .*(?:adjusted to|wasn't recognized)")

# That it gives up is no reason.
_EMPTY = re.compile(r"Aborting\.?|Failed to initialize plugins\.?|Data Dictionary initialization failed\.")

_LAST_LINES = 3

# A value that would not stand in an error by chance.
_TELLING = re.compile(r"(?!(?i:on|off|true|false|yes|none|default)$)[A-Za-z_]{3,}")


def errors(log: str) -> list[str]:
    """Give the words of a log's errors, without times and the like."""
    found = []
    for line in log.splitlines():
        match = _SEVERITY.search(line)
        if match is not None and match["mark"] != "Warning":
            words = (match["words"] or match["text"] or match["first"] or "").strip()
            if words and not _EMPTY.fullmatch(words) and words not in found:
                found.append(words)
    return found


def last_words(log: str) -> str:
    """Give a log's last errors, or its last lines where it has none, as one line."""
    return "; ".join((errors(log) or [line.strip() for line in log.splitlines() if line.strip()])[-_LAST_LINES:])


def refused(settings: Mapping[str, str], log: str) -> tuple[str, str] | None:
    """Give the first of some settings that a log's errors name, and the words that do; ``None``: they name none.

    Where no name is said, a value will do that is a word of its own.
    """
    said = errors(log)
    for name in settings:
        for words in said:
            if _names(name, words):
                return name, words
    for name, value in settings.items():
        for words in said:
            if _TELLING.fullmatch(value) and re.search(rf"(?<!\w){value}(?!\w)", words):
                return name, words
    return None


def adjusted(names: Iterable[str], log: str) -> tuple[str, str] | None:
    """Give the first of some settings whose value the server changed with no more than a warning, and its words."""
    by_name = {_plain(name): name for name in names}
    for line in log.splitlines():
        match = _SEVERITY.search(line)
        found = _ADJUSTED.search(line)
        if match is not None and found is not None and _plain(found["name"]) in by_name:
            return by_name[_plain(found["name"])], (match["text"] or line).strip()
    return None


def _names(name: str, words: str) -> bool:
    """Whether words mean a setting. One whose name is a plain word, such as ``fsync``, counts where it is quoted."""
    pattern = re.escape(name).replace("_", "[-_]").replace(r"\-", "[-_]")
    if re.search(r"[_.-]", name):
        return re.search(rf"(?<![\w.]){pattern}(?![\w.]*\w)", words, re.IGNORECASE) is not None
    return re.search(rf"(?:[\"'`]|--){pattern}(?![\w-])", words, re.IGNORECASE) is not None


def _plain(name: str) -> str:
    return name.replace("-", "_").lower()
