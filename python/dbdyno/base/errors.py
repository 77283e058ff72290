"""Exceptions with a message for the user. The command line prints the message and exits with ``exit_code``."""


class DbdynoError(Exception):
    """Base class of all errors that dbdyno reports without a traceback. ``exit_code``: exit code of the process."""

    exit_code = 1


class InputError(DbdynoError):
    """Invalid input from the user, such as a file, a URL or an option.

    The message contains the place, the problem and a hint how to fix it.
    """

    exit_code = 2

    def __init__(self, location: str, problem: str, hint: str = "") -> None:
        """``location``: file and key, URL or option. ``problem`` and ``hint``: one clause each, without a full stop."""
        self.location = location
        self.problem = problem
        self.hint = hint
        super().__init__(f"{location}: {problem}" + (f"; {hint}" if hint else ""))


class ExtraMissing(InputError):
    """A library that the user's request requires is not installed; one of dbdyno's optional extras includes it."""

    def __init__(self, library: str, extra: str, otherwise: str = "") -> None:
        """``library``: the missing module. ``extra``: the extra that installs it. ``otherwise``: an alternative."""
        self.extra = extra
        hint = f"install dbdyno's wheel with `[{extra}]` after its path: `pip install 'WHEEL[{extra}]'`"
        super().__init__(library, "not installed", hint + (f", {otherwise}" if otherwise else ""))


class SystemFailed(DbdynoError):
    """A database system could not be built, started or reached."""


class TrialFailed(DbdynoError):
    """A trial produced no result. The message contains the reason."""


class RunInterrupted(DbdynoError):
    """Ctrl-C or SIGTERM ended a command before it had results worth storing."""

    exit_code = 130
    kind = "interrupted"


class StoreError(DbdynoError):
    """The store of runs can't be read or written."""


def reason(error: OSError) -> str:
    """Return the operating system's error message in lower case, such as ``permission denied``."""
    return (error.strerror or str(error)).lower()
