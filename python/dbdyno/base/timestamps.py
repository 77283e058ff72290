"""Timestamps in the store."""

from datetime import UTC, datetime


def utc_now() -> str:
    """Return the current time in UTC in ISO 8601 format with milliseconds; these strings sort by time."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
