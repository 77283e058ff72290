"""A statement that is written once, in SQLite's SQL, as other engines write it."""
