"""What to do about an error, in commands and options."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from gem_index.errors import (
    Action,
    GemIndexError,
    MissingFieldError,
    RecordError,
    UnreadableFileError,
)

__all__ = ["COMMANDS", "command_with_fields", "message_of", "problem_of", "without_password"]

_FIELD_OPTIONS = ("--id-field", "--text-field")

COMMANDS = {
    Action.ADD_OR_DROP: "add to it with gem-index add, or drop it first",
    Action.BUILD_AGAIN: "run the same command again",
    Action.CALIBRATE: "run: gem-index calibrate {collection}",
    Action.CHECK_HOME: "check it with gem-index verify",
    Action.CHOOSE_HOME: "choose another with GEM_INDEX_HOME or --home",
    Action.CLEAN: "strip them to their text with --clean auto",
    Action.COMPACT: "run: gem-index compact {collection}",
    Action.CUT_TO_WORDS: "cut it to words with gem-index vectors fit-vocabulary",
    Action.FETCH_VECTORS: "fetch them with: gem-index vectors add {vectors}",
    Action.FIT_MODEL: "fit one with: gem-index fit NAME FILE",
    Action.GIVE_FORMAT: "if it is one of these, give its format, as --format tsv",
    Action.GIVE_NAME: "gem-index import FILE NAME",
    Action.GIVE_QUERY: "give it with --query",
    Action.IMPORT_EXPORT: "import it with: gem-index import FILE",
    Action.IMPORT_TEXTS: "to import its texts and fit a model on them, run: gem-index import FILE --fit",
    Action.INSTALL: "{line}",
    Action.LEAVE_OUT_VECTORS: (
        "leave out --vectors, or name those it was made with; gem-index status shows a collection's"
    ),
    Action.LIST_VECTORS: "see: gem-index vectors list",
    Action.MAKE_COLLECTION: "make one with: gem-index build NAME FILE",
    Action.MAKE_HOME: "make one with: gem-index build NAME FILE",
    Action.MAKE_KEY: "make one with: gem-index keys add NAME",
    Action.MAKE_MAKER: "make one with: gem-index keys add NAME --allow keys",
    Action.MAKE_KEY_OR_NONE: "make it with gem-index keys add NAME, or say --insecure",
    Action.NAME_ENCODING: "name the file's encoding, as --encoding {encoding}",
    Action.NAME_FIELD: "name the field that holds the {field} with --{field}-field",
    Action.NAME_FIELDS: "name them with --text-field and --id-field; gem-index inspect shows all fields",
    Action.NAME_ID_COLUMN: "select it, or name another with --id-field",
    Action.NAME_SINCE_COLUMN: "select it, or name another with --since",
    Action.NAME_VECTORS: "gem-index vectors add NAME {file}",
    Action.NAME_NO_HEADER: "if its first row is a record, read it with --no-header",
    Action.NAME_TABLE: "name one with --table {table}",
    Action.OPEN_AGAIN: "run the command again for the new one",
    Action.READ_AS_JSON_LINES: "if each line is a JSON object, read it with --format jsonl",
    Action.READ_AS_TSV: (
        "if it is separated by tabs and quotes nothing, read it with --format tsv"
    ),
    Action.REPLACE_FIELD: "replace them with --replace",
    Action.SERVE_BACKUPS: "start it with: gem-index serve --backups FOLDER",
    Action.SKIP_RECORDS: "skip such records with --on-error skip",
    Action.OVERWRITE_MODEL: "to replace the model, add --overwrite",
    Action.REBUILD_INDEX: "run: gem-index verify --fix",
    Action.REMOVE_MAKER: "remove it with: gem-index keys remove {key}",
    Action.REFIT: "run: gem-index refit {collection}",
    Action.WRITE_TABLE: "write a table with: gem-index list {collection} --vectors -o FILE.csv",
    Action.REGISTER_VECTORS: (
        "register a file with: gem-index vectors add NAME FILE, or name an existing file"
    ),
}
"""The advice of each :class:`~gem_index.errors.Action`, with commands and options instead of calls."""


_SECRET = re.compile(
    r"(://[^/@:]*:)[^/]*(?=@)|([?&](?:key|token|password|sslkey)=)[^&]*", re.IGNORECASE
)


def without_password(argument: str) -> str:
    """Return an argument of a command; in a URL, stars stand for its password and keys."""
    return _SECRET.sub(lambda found: f"{found[1] or found[2]}***", argument)


def command_with_fields(arguments: Sequence[str], error: MissingFieldError) -> str:
    """Return a command that named no such field, with the fields of the id and the text, if they are clear."""
    kept = []
    rest = iter(arguments)
    for argument in rest:
        if argument in _FIELD_OPTIONS:
            next(rest, None)
        elif argument.partition("=")[0] not in _FIELD_OPTIONS:
            kept.append(argument)
    if error.id_field is not None:
        kept += ["--id-field", error.id_field]
    for name in error.text_fields:
        kept += ["--text-field", name]
    return shlex.join(["gem-index", *map(without_password, kept)])


def message_of(error: BaseException, arguments: Sequence[str] = ()) -> str:
    """Return the message of an error, with the commands and options that it advises for a command of some arguments."""
    if isinstance(error, MissingFieldError) and error.text_fields and arguments:
        words = {Action.NAME_FIELDS: f"run: {command_with_fields(arguments, error)}"}
        return error.told(words)
    return error.told(COMMANDS) if isinstance(error, GemIndexError) else str(error)


def problem_of(error: GemIndexError) -> str:
    """Return the message of an error as :func:`message_of` does, without the place of a record or file."""
    if not isinstance(error, RecordError | UnreadableFileError):
        return message_of(error)
    return error.problem if error.advice is None else error.advice.retold(error.problem, COMMANDS)
