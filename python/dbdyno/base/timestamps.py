"""Moments as they are stored."""

from datetime import UTC, datetime


def utc_now() -> str:
    """Return the present moment as ISO 8601 text in UTC with milliseconds, which sorts by time."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
