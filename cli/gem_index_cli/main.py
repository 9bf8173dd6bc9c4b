"""The entry point: the command tree and error handling."""

from __future__ import annotations

import io
import locale
import os
import sys
import traceback
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core
import typer.main

from gem_index.errors import GemIndexError
from gem_index.errors.quoting import quoted_error, quoted_path
from gem_index_cli.advice import message_of
from gem_index_cli.context import State
from gem_index_cli.examples import add_examples
from gem_index_cli.exit_status import INTERRUPTED
from gem_index_cli.tree import MODULES, PANELS, modules_for

__all__ = ["main", "make_app", "run"]

_LONGEST_LINE = 2000


class _Commands(typer.core.TyperGroup):
    """The group of all commands. Typer ends an interrupted command without a message, so this class raises an abort."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]  # Typer's own context
        """Return the names of the commands, panel by panel."""
        order = {name: place for place, name in enumerate(chain.from_iterable(PANELS.values()))}
        return sorted(super().list_commands(ctx), key=lambda name: order.get(name, len(order)))

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]  # Typer's own context
        """Run a command. An abort after Ctrl-C keeps the interrupt, and so its notes, as its cause."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise typer.Abort from error


def make_app(modules: Iterable[str] = MODULES) -> typer.Typer:
    """Return the command tree with the commands of some modules, by default of all."""
    app = typer.Typer(
        cls=_Commands,
        name="gem-index",
        help="Sentence embeddings on a CPU: build a searchable collection of your texts, search it, re-rank, and see why.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(configure)
    for name in modules:
        import_module(f"gem_index_cli.{name}").register(app)
    add_examples(app)
    _divide_into_panels(app)
    return app


@cache  # a process may run many commands
def _command_tree(modules: tuple[str, ...]) -> Any:
    """Return what parses and runs the commands of some modules."""
    return typer.main.get_command(make_app(modules))


def _divide_into_panels(app: typer.Typer) -> None:
    """Put each command into its panel of the help."""
    panels = {name: panel for panel, names in PANELS.items() for name in names}
    for command in app.registered_commands:
        named = command.name or (command.callback.__name__ if command.callback else "")
        command.rich_help_panel = panels.get(named)
    for group in app.registered_groups:
        group.rich_help_panel = panels.get(str(group.name))


def _print_version(wanted: bool) -> None:
    if wanted:
        import gem_index

        typer.echo(f"gem-index {gem_index.__version__}")
        raise typer.Exit


def configure(
    context: typer.Context,
    home: Annotated[
        str | None,
        typer.Option(
            "--home",
            help="The home: the folder with database, word vectors and collections. Default: $GEM_INDEX_HOME, else the "
            "platform's data folder.",
            show_default=False,
        ),
    ] = None,
    version: Annotated[  # noqa: ARG001 - Typer calls the callback
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Store the options that all commands share."""
    context.obj = State(home)


def main() -> None:
    """Run the command line; exit 0 when done, 2 when the user's input is wrong, 130 interrupted, 1 for anything else."""
    for name in ("stdout", "stderr"):
        if (
            getattr(sys, name) is None
        ):  # the caller closed the stream, as in `gem-index build … >&-`
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - open until the process ends
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a character
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command and return its exit status."""
    arguments = _home_first(arguments)
    try:
        commands = _command_tree(modules_for(arguments))
        status = commands(args=arguments, prog_name="gem-index", standalone_mode=False)
        sys.stdout.flush()
    except GemIndexError as error:
        message = message_of(error, arguments)
        if isinstance(error.__cause__, UnicodeEncodeError) and not _are_text(arguments):
            message += f"; an argument is neither UTF-8 nor {locale.getencoding()}, the encoding of the locale"
        return _fail(message, error.exit_status)
    except typer.TyperException as error:
        if not error.format_message():
            return 2  # no command: the help has been shown instead
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "gem-index"
        return _fail(f"{_usage_problem(error)} See: {command} --help", 2)
    except BrokenPipeError:
        # The program that reads our output has ended, as in `gem-index search … | head -1`.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (KeyboardInterrupt, typer.Abort) as error:
        cause = error.__cause__ or error.__context__ or error
        told = [message_of(each) for each in cause.args if isinstance(each, GemIndexError)]
        notes = [*told, *getattr(cause, "__notes__", [])]
        # without an interrupt, the user answered no to a question
        status = INTERRUPTED if isinstance(cause, KeyboardInterrupt) else 1
        return _fail("; ".join(["interrupted", *notes]), status)
    except MemoryError:
        return _fail(
            "out of memory; give the input in smaller files, one after the other, or use a machine with more memory",
            1,
        )
    except OSError as error:
        return _fail(f"{quoted_error(error)}: {quoted_path(error.filename or 'a file')}", 1)
    except Exception:  # noqa: BLE001 - an error in gem-index itself: show the whole traceback
        traceback.print_exc()
        return _fail("this is a fault in gem-index; please report the lines above", 1)
    if status == INTERRUPTED:  # Ctrl-C while Typer parsed the arguments: it ends without a message
        return _fail("interrupted", INTERRUPTED)
    return status if isinstance(status, int) else 0


def _are_text(arguments: Iterable[str]) -> bool:
    """Return whether all arguments are valid Unicode; Python decodes other bytes to halves of surrogate pairs."""
    try:
        "".join(arguments).encode()
    except UnicodeEncodeError:
        return False
    return True


def _usage_problem(error: typer.TyperException) -> str:
    """Return what is wrong with the options and arguments of a command, as a sentence."""
    option = getattr(error, "option_name", None)
    context = getattr(error, "ctx", None)
    if option is None or context is None:
        message = error.format_message()
        return message if message.endswith("?") else f"{message.rstrip('.')}."
    known = [name for each in context.command.params for name in (*each.opts, *each.secondary_opts)]
    near = get_close_matches(option, known, 1, 0.5)
    return f"No such option: {option}." + (f" Did you mean {near[0]}?" if near else "")


def _home_first(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with the option ``--home``, which may be anywhere before ``--``, at the beginning."""
    home: list[str] = []
    rest: list[str] = []
    following = iter(arguments)
    for argument in following:
        if argument == "--":
            return [*home, *rest, argument, *following]
        if argument == "--home":
            home = [argument, *islice(following, 1)]
        elif argument.startswith("--home="):
            home = [argument]
        else:
            rest.append(argument)
    return [*home, *rest]


def _fail(message: str, status: int) -> int:
    line = " ".join(message.split())
    if len(line) > _LONGEST_LINE:
        line = line[:_LONGEST_LINE] + "…"
    print(f"Error: {line}", file=sys.stderr)  # noqa: T201 - the one line of every error
    return status
