"""The advice of an error, as data: Python words it with calls, the command line with options, a server with routes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

__all__ = ["Action", "Advice", "Message"]


class Action(Enum):
    """All kinds of advice, in the words for Python; braces stand for the values of an advice."""

    ADD_OR_DROP = "add to it with home.collection({collection!r}).upsert(documents), or drop it first with home.drop"
    BUILD_AGAIN = "call home.build({collection!r}, documents) again with the same choices"
    CALIBRATE = "call home.collection({collection!r}).calibrate()"
    CHECK_HOME = "check it with home.verify()"
    CHOOSE_HOME = "choose another with Home(root) or GEM_INDEX_HOME"
    CLEAN = "strip them to their text with clean='auto'"
    COMPACT = "call home.collection({collection!r}).compact()"
    CUT_TO_WORDS = "cut it to words with home.vectors.fit_vocabulary"
    FETCH_VECTORS = "fetch them with home.vectors.add({vectors!r})"
    FIT_MODEL = "fit one with home.models.fit(name, texts)"
    GIVE_FORMAT = "if it is one of these, give its format, as format='tsv'"
    GIVE_NAME = "name one, as home.import_collection(path, name)"
    GIVE_QUERY = "give it as query"
    IMPORT_EXPORT = "import it with home.import_collection(path)"
    IMPORT_TEXTS = (
        "to import its texts and fit a model on them, call home.import_collection(path, fit=True)"
    )
    INSTALL = "{line}"
    LEAVE_OUT_VECTORS = (
        "leave out the vectors, or name those it was made with; its status shows them"
    )
    LIST_VECTORS = "see home.vectors.list()"
    MAKE_COLLECTION = "make one with home.build(name, documents)"
    MAKE_HOME = "make one with Home(root)"
    MAKE_KEY = "make one with home.keys.add(name)"
    MAKE_MAKER = "make one with home.keys.add(name, 'keys')"
    MAKE_KEY_OR_NONE = "make it with home.keys.add(name), or serve with insecure=True"
    NAME_ENCODING = "name the file's encoding, as encoding={encoding!r}"
    NAME_FIELD = "name the field that holds the {field}, as {field}='…'"
    NAME_FIELDS = "name them, as {arguments}"
    NAME_ID_COLUMN = "select it, or name another as id_field"
    NAME_SINCE_COLUMN = "select it, or name another as since"
    NAME_VECTORS = "give one, as home.vectors.add(name, {file!r})"
    NAME_NO_HEADER = "if its first row is a record, read it with header=False"
    NAME_TABLE = "name one, as table={table!r}"
    OPEN_AGAIN = "open the new one with home.collection({collection!r})"
    OVERWRITE_MODEL = "to replace the model, pass overwrite=True"
    REBUILD_INDEX = "rebuild it with home.verify(fix=True)"
    READ_AS_JSON_LINES = "if each line is a JSON object, read it with format='jsonl'"
    READ_AS_TSV = "if it is separated by tabs and quotes nothing, read it with format='tsv'"
    REMOVE_MAKER = "remove it with home.keys.remove({key!r})"
    REFIT = "call home.collection({collection!r}).refit()"
    REPLACE_FIELD = "replace them with replace=True"
    SERVE_BACKUPS = "start it with ServeOptions(backups='folder')"
    SKIP_RECORDS = "skip such records with on_problem"
    WRITE_TABLE = (
        "write a table with home.collection({collection!r}).write_documents(path, vectors=True)"
    )
    REGISTER_VECTORS = "register a file with home.vectors.add(name, path), or name an existing file"


@dataclass(frozen=True)
class Advice:
    """The advice of one error.

    Attributes
    ----------
    action : Action
    values : mapping of str to str
        The values for the braces in the words of the action.
    """

    action: Action
    values: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.said({})

    def said(self, words: Mapping[Action, str]) -> str:
        """Return the advice in the given words; in the words for Python if the given ones lack its action."""
        return words.get(self.action, self.action.value).format_map(self.values)

    def retold(self, message: str, words: Mapping[Action, str]) -> str:
        """Return a message that ends with this advice, with other words for the advice."""
        return message.removesuffix(str(self)) + self.said(words)


@dataclass(frozen=True)
class Message:
    """A line for a person, which may end with an advice.

    Attributes
    ----------
    text : str
    advice : Advice, optional
    """

    text: str
    advice: Advice | None = None

    def __str__(self) -> str:
        return self.told({})

    def told(self, words: Mapping[Action, str]) -> str:
        """Return the line with the advice in the given words, as in :meth:`Advice.said`."""
        return self.text if self.advice is None else f"{self.text}: {self.advice.said(words)}"
