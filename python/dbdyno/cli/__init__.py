"""The command line. Commands import what they need when they run, so that ``--help`` answers at once."""

from dbdyno.cli.ending import program

__all__ = ["program"]
