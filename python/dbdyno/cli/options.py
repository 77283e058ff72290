"""Options that several commands have."""

from typing import Annotated

import typer

from dbdyno.cli.completing import complete_set

SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="FACTOR=LEVEL,…", help="Narrow or widen a factor", autocompletion=complete_set),
]
StoreOption = Annotated[str | None, typer.Option("--store", metavar="PATH|URL", help="Where runs are kept")]
SeedOption = Annotated[int | None, typer.Option("--seed", min=0, max=2**63 - 1, help="Seed of all random draws")]
DirOption = Annotated[str | None, typer.Option("--dir", help="Where the databases under test lie")]
