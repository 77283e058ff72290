"""Find in a server's log why it didn't start or rejected a setting."""

import re
from collections.abc import Iterable, Mapping

# PostgreSQL and MySQL write `2024-01-01 12:00:00.000 UTC [7] FATAL:  words` and `2024-01-01 12:00:00 0 [ERROR] words`.
# PostgreSQL writes `postgres: words` before it has opened its log.
_SEVERITY = re.compile(
    r"\b(?P<level>FATAL|PANIC|ERROR|DETAIL|HINT):\s+(?P<words>.*)|"
    r"\[(?P<mark>ERROR|Warning)\]\s+(?:\[[^\]]*\]\s+)*(?P<text>.*)|"
    r"^postgres: (?P<first>.*)"
)
_ADJUSTED = re.compile(r"option '(?P<name>[^']+)': .*(?:adjusted to|wasn't recognized)")

# Messages that only report the failure, not its reason.
_EMPTY = re.compile(r"Aborting\.?|Failed to initialize plugins\.?|Data Dictionary initialization failed\.")

_LAST_LINES = 3

# A value distinctive enough not to appear in an error message by chance.
_TELLING = re.compile(r"(?!(?i:on|off|true|false|yes|none|default)$)[A-Za-z_]{3,}")


def errors(log: str) -> list[str]:
    """Return the messages of a log's errors, without timestamps and severities."""
    found = []
    for line in log.splitlines():
        match = _SEVERITY.search(line)
        if match is not None and match["mark"] != "Warning":
            words = (match["words"] or match["text"] or match["first"] or "").strip()
            if words and not _EMPTY.fullmatch(words) and words not in found:
                found.append(words)
    return found


def last_words(log: str) -> str:
    """Return a log's last errors on one line, or its last lines if it has no errors."""
    return "; ".join((errors(log) or [line.strip() for line in log.splitlines() if line.strip()])[-_LAST_LINES:])


def refused(settings: Mapping[str, str], log: str) -> tuple[str, str] | None:
    """Return the first setting that an error in the log names, and the error; ``None``: none does.

    If no error names a setting, an error that contains a distinctive value counts.
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
    """Return the first setting whose value the server changed with only a warning, and the warning."""
    by_name = {_plain(name): name for name in names}
    for line in log.splitlines():
        match = _SEVERITY.search(line)
        line_match = _ADJUSTED.search(line)
        if match is not None and line_match is not None and _plain(line_match["name"]) in by_name:
            return by_name[_plain(line_match["name"])], (match["text"] or line).strip()
    return None


def _names(name: str, words: str) -> bool:
    """Whether a message names a setting. A name that is a plain word, such as ``fsync``, must be quoted to count."""
    pattern = re.escape(name).replace("_", "[-_]").replace(r"\-", "[-_]")
    if re.search(r"[_.-]", name):
        return re.search(rf"(?<![\w.]){pattern}(?![\w.]*\w)", words, re.IGNORECASE) is not None
    return re.search(rf"(?:[\"'`]|--){pattern}(?![\w-])", words, re.IGNORECASE) is not None


def _plain(name: str) -> str:
    return name.replace("-", "_").lower()
