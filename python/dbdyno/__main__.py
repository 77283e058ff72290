"""`python -m dbdyno` is the command line, also of a source tree that is not installed."""

import sys

from dbdyno.cli import program

if __name__ == "__main__":
    # Help, and the command that a run keeps, name the command line as it is typed where it is installed.
    sys.argv[0] = "dbdyno"
    program()
