"""Commands on the database: its schema's revision, and bringing it up to date."""

from __future__ import annotations

import typer

from gem_index_cli.context import home_of
from gem_index_cli.output import print_json, say
from gem_index_cli.parameters import AsJson

__all__ = ["register"]

app = typer.Typer(help="The database's schema.", no_args_is_help=True)


@app.command()
def current(context: typer.Context, as_json: AsJson = False) -> None:
    """Show the revision of the schema, and the newest revision that this version knows."""
    home = home_of(context, upgrade=False)
    if as_json:
        print_json({"revision": home.database_revision, "newest": home.newest_revision})
    else:
        say(f"{home.database_revision or 'empty'} (newest: {home.newest_revision})")


@app.command()
def upgrade(context: typer.Context, as_json: AsJson = False) -> None:
    """Migrate the database to the newest schema. Every other command also does this when it opens the home."""
    home = home_of(context, upgrade=False)
    before = home.database_revision
    home.upgrade_database()
    if as_json:
        print_json({"before": before, "revision": home.database_revision})
    else:
        say(f"{before or 'empty'} -> {home.database_revision}")


def register(root: typer.Typer) -> None:
    """Add the commands to the tree."""
    root.add_typer(app, name="db")
