"""What a ``?`` may stand in without being a place for a value: what engines make their own expressions of."""

import re

FLAGS = re.VERBOSE | re.DOTALL
"""Of all these expressions."""

TEXT = r"'(?:[^']|'')*'"
NAME = r'"(?:[^"]|"")*"'
TICKED = r"`(?:[^`]|``)*`"
COMMENTS = r"--[^\n]* | /\*.*?\*/"

# In brackets stands a name, or on some engines the number of an array's element.
STANDARD = re.compile(rf"{TEXT} | {NAME} | {TICKED} | {COMMENTS} | \[[^\]]*\]", FLAGS)
"""Texts, quoted names and comments of an engine that says nothing else."""
