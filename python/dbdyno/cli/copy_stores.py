"""The command that copies runs between stores."""

from collections import Counter
from contextlib import closing

from dbdyno.base.console import Console
from dbdyno.base.errors import InputError
from dbdyno.base.paths import default_path
from dbdyno.store import open_store
from dbdyno.store.run_copy import copy_runs

_OWN = "default"


def copy_stores(source: str, target: str, runs: list[str]) -> int:
    """Copy runs and print a line per run; return the exit code, 1 if a run failed to copy. Raises DbdynoError."""
    console = Console()

    def say(text: str) -> None:
        console.print(text, soft_wrap=True)

    with closing(open_store(_location(source), make=False)) as source_store:
        # Check the names before the target is created.
        for name in runs:
            source_store.run(name)
        with closing(open_store(_location(target))) as target_store:
            if source_store.is_same(target_store):
                raise InputError(f"store copy {source} {target}", "this is one store", "give two")
            counted: Counter[str] = Counter()
            for copy_result in copy_runs(source_store, target_store, runs):
                counted[copy_result.outcome] += 1
                trials = (
                    f", {copy_result.trials} trial{'' if copy_result.trials == 1 else 's'}"
                    if copy_result.trials
                    else ""
                )
                why = f": {copy_result.why}" if copy_result.why else ""
                say(f"{copy_result.run}  {copy_result.experiment}  {copy_result.outcome}{trials}{why}")
            summary = ", ".join(f"{number} {outcome}" for outcome, number in counted.items()) or "no runs"
            say(f"{source_store.location} to {target_store.location}: {summary}")
    return 1 if counted["not copied"] else 0


def _location(text: str) -> str:
    """Return the place of a store. `default` means the user's default store, whose path is rarely known."""
    return str(default_path()) if text == _OWN else text
