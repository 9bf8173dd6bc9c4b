"""Every command of the command line, by its path."""

import typer

from gem_index_cli.main import make_app


def commands(group=None, prefix=()):
    group = group or typer.main.get_command(make_app())
    for name, command in group.commands.items():
        if command.hidden:
            continue  # a name of before
        if hasattr(command, "commands"):
            yield from commands(command, (*prefix, name))
        else:
            yield (*prefix, name), command


ALL = dict(commands())
