"""Translate common statements, written in SQLite's SQL, for other engines."""
