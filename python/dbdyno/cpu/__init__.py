"""Instruction counts of SQLite builds under callgrind: by build, part, function and line."""
