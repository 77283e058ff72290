"""The command line. Commands import what they need when they run, so that ``--help`` answers at once."""

import signal


def program() -> None:
    """Run the command line as a program, and end with its exit code. Ctrl-C ends the imports without a traceback."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from dbdyno.cli.entry_point import run_to_end

    signal.signal(signal.SIGINT, handler)
    run_to_end()


__all__ = ["program"]
