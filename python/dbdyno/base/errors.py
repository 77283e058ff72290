"""The one family of errors of the laboratory. The command line turns each into a message and an exit code."""


class DbdynoError(Exception):
    """Something went wrong that dbdyno can explain. ``exit_code`` is what the command line ends with."""

    exit_code = 1


class InputError(DbdynoError):
    """What the user gave (a file, a URL, an option) cannot be used.

    The message names the place, what is wrong there and what would be right.
    """

    exit_code = 2

    def __init__(self, place: str, problem: str, hint: str = "") -> None:
        """``place``: file and key, URL or option; ``problem`` and ``hint``: a clause each, without a full stop."""
        self.place = place
        self.problem = problem
        self.hint = hint
        super().__init__(f"{place}: {problem}" + (f"; {hint}" if hint else ""))


class ExtraMissing(InputError):
    """What was asked for needs a library that comes with an extra of the package, and it is not installed."""

    def __init__(self, library: str, extra: str, otherwise: str = "") -> None:
        """``library``: the module that is missing; ``extra``: what brings it; ``otherwise``: what else would do."""
        self.extra = extra
        hint = f"install dbdyno's wheel with `[{extra}]` after its path: `pip install 'WHEEL[{extra}]'`"
        super().__init__(library, "not installed", hint + (f", {otherwise}" if otherwise else ""))


class SystemFailed(DbdynoError):
    """A system (a library, a server) could not be built, started or reached."""


class TrialFailed(DbdynoError):
    """A trial did not give a result. The message says why."""


class RunInterrupted(DbdynoError):
    """Ctrl-C or SIGTERM ended what had not come so far that anything of it could be kept."""

    exit_code = 130
    kind = "interrupted"


class StoreError(DbdynoError):
    """The store of runs cannot be read or written."""


def reason(error: OSError) -> str:
    """Say in a clause what the operating system objects to: ``permission denied``."""
    return (error.strerror or str(error)).lower()
