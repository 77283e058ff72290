"""The command that builds the web application."""

import typer

commands = typer.Typer(help="Build the web application that the system `web:` starts.", no_args_is_help=True)


@commands.callback()
def web() -> None:
    """The web application that the system `web:` starts."""


@commands.command("get")
def get_application() -> None:
    """Print the path of the web application. Build it with cargo if it isn't built yet."""
    from dbdyno.engines.web.application import application, find_application

    if find_application() is None:
        typer.echo("building the web application with cargo, which takes some minutes", err=True)
    # Standard output contains only the path, for use in other commands.
    typer.echo(application())
