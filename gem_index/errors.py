"""Every error that gem-index raises on purpose.

They share one base class, so that a caller can catch all of them. Each message says in one line what was found, what was
expected and what to do. What to do is an :class:`~gem_index.advice.Advice` where Python, the command line and
the server differ in it. ``exit_status`` is the exit status of the command line: 2 if the user's input is wrong, else 1.

::

    GemIndexError
    ├── InputError                 the user's input is wrong
    │   ├── ConfigError            a configuration value that GEM or a collection cannot take
    │   ├── RecordError            one line or row of an input file (carries file and line)
    │   ├── UnreadableFileError    one file of a folder (carries the file)
    │   ├── EmptyTextError         a query without any word
    │   ├── FilterError            a ``where`` that is not of the documented form
    │   ├── VectorFormatError      a file of word vectors that is damaged or of another format
    │   ├── UnknownNameError       no collection, model or vectors of that name (suggests similar names)
    │   │   └── CollectionReplacedError  an open collection was dropped, and another made under its name
    │   ├── NameTakenError         the name is in use for something else
    │   ├── DuplicateIdError       the same document id twice in one call
    │   ├── ExistingIdError        a document id is already stored and must not be replaced
    │   ├── FingerprintMismatchError  vectors of two encoders or sources would be mixed
    │   ├── HomeNotWritableError   the home directory cannot be created or written
    │   ├── DatabaseVersionError   the database was written by a newer gem-index
    │   ├── MissingExtraError      an optional dependency is not installed
    │   ├── MissingTargetError     the package for a vector database is not installed
    │   ├── TargetChangedError     a vector database is not as the last push left it
    │   └── WorkerMismatchError    a Dask worker has another version of gem-index, or other word vectors
    ├── CorruptionError            a stored file is not what was written
    ├── DiskError                  reading or writing the home failed
    │   └── CommitError            the same during a commit: it is not known yet whether the transaction was kept
    ├── DownloadError              a server sent an error, or not the expected file
    ├── HomeBusyError              another process kept the write lock for too long
    ├── PartitionError             a part of the inputs failed on several Dask workers
    ├── SchedulerUnavailableError  a Dask scheduler cannot be reached, or was lost
    ├── TargetUnavailableError     a vector database cannot be reached, or is overloaded
    ├── RejectedDocumentsError     a vector database refused some documents
    └── NotIndexedError            documents are stored and found, but fitting or indexing them failed
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from gem_index.advice import Action, Advice, Message
from gem_index.quoting import quoted, quoted_error, quoted_path

__all__ = [
    "CollectionReplacedError",
    "CommitError",
    "ConfigError",
    "CorruptionError",
    "DatabaseVersionError",
    "DiskError",
    "DownloadError",
    "DuplicateIdError",
    "EmptyTextError",
    "ExistingIdError",
    "FilterError",
    "FingerprintMismatchError",
    "GemIndexError",
    "HomeBusyError",
    "HomeNotWritableError",
    "InputError",
    "MissingExtraError",
    "MissingTargetError",
    "NameTakenError",
    "NotIndexedError",
    "PartitionError",
    "RecordError",
    "RejectedDocumentsError",
    "SchedulerUnavailableError",
    "TargetChangedError",
    "TargetUnavailableError",
    "UnknownNameError",
    "UnreadableFileError",
    "VectorFormatError",
    "WorkerMismatchError",
]


class GemIndexError(Exception):
    """Base of every error that gem-index raises on purpose.

    Parameters
    ----------
    message : str
    advice : Advice, optional
        What to do; it ends the message.
    """

    exit_status = 1

    def __init__(self, message: str, advice: Advice | None = None) -> None:
        super().__init__(str(Message(message, advice)))
        self.advice = advice

    def told(self, words: Mapping[Action, str]) -> str:
        """Return the message with its advice in some words, as :meth:`gem_index.advice.Advice.said` chooses them."""
        return str(self) if self.advice is None else self.advice.retold(str(self), words)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle message and fields, not the constructor's arguments: errors come back from worker processes."""
        return _restore, (type(self), self.args, vars(self))


def _restore(kind: type[GemIndexError], args: tuple[Any, ...], fields: dict[str, Any]) -> Any:
    error = kind.__new__(kind)
    error.args = args
    vars(error).update(fields)
    return error


class InputError(GemIndexError):
    """The user's input is wrong; nothing was changed."""

    exit_status = 2


class ConfigError(InputError):
    """A configuration value is out of its range or of the wrong kind."""


class RecordError(InputError):
    """One record of an input is wrong.

    Parameters
    ----------
    source : str
        The file, as the user named it (``-`` for standard input).
    line : int
        The 1-based line or row.
    problem : str or Message
        What was found, what was expected, what to do.
    """

    def __init__(self, source: str, line: int, problem: str | Message) -> None:
        name = "standard input" if source == "-" else source
        super().__init__(f"{name} line {line}: {problem}")
        self.source = source
        self.line = line
        self.problem = str(problem)
        self.advice = problem.advice if isinstance(problem, Message) else None

    def moved(self, source: str, line: int) -> RecordError:
        """Return the same problem at another place."""
        found = RecordError(source, line, self.problem)
        found.advice = self.advice
        return found


class UnreadableFileError(InputError):
    """One file of a folder cannot be read.

    Parameters
    ----------
    source : str
        The file.
    problem : str
        What was found, what was expected, what to do.
    """

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(f"{quoted_path(source)} was not read: {problem}")
        self.source = source
        self.problem = problem


class EmptyTextError(InputError):
    """A query holds no word and cannot be compared with anything."""

    def __init__(self, text: str) -> None:
        super().__init__(
            f"the query {quoted(text, 40)} holds no word; expected at least one letter or digit to search for"
        )
        self.text = text


class FilterError(InputError):
    """A ``where`` filter is not of the documented form."""


class VectorFormatError(InputError):
    """A file or folder of word vectors is damaged or of another format."""


class UnknownNameError(InputError):
    """Nothing of that kind has that name.

    Parameters
    ----------
    kind : str
        ``collection``, ``model`` or ``vectors``.
    name : str
        The requested name.
    known : iterable of str
        The existing names, from which similar ones are suggested.
    advice : str or Advice
        What to do if no name is similar.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], advice: str | Advice) -> None:
        self.kind = kind
        self.name = name
        self.known = sorted(known)
        # the comparison takes time proportional to both lengths, and valid names are short
        near = difflib.get_close_matches(name[:200], self.known, n=3, cutoff=0.5)
        if near:
            hint = f"did you mean {' or '.join(near)}?"
        elif self.known:
            hint = f"there is {', '.join(self.known[:8])}; {advice}"
        else:
            hint = f"there is none yet; {advice}"
        super().__init__(f"no {kind} is named {quoted(name)}: {hint}")
        self.advice = advice if isinstance(advice, Advice) and not near else None


class CollectionReplacedError(UnknownNameError):
    """An open collection was dropped, and another one made under its name; :meth:`gem_index.Home.collection` opens that one.

    Parameters
    ----------
    name : str
    """

    def __init__(self, name: str) -> None:
        self.kind = "collection"
        self.name = name
        self.known = [name]
        InputError.__init__(
            self,
            f"the collection {quoted(name)} was dropped after it was opened, and another one was made under its name; "
            "expected the one that was opened",
            Advice(Action.OPEN_AGAIN, {"collection": name}),
        )


class NameTakenError(InputError):
    """The name is in use for something else."""


class DuplicateIdError(InputError):
    """The same document id came twice in one call."""

    def __init__(self, document_id: str) -> None:
        super().__init__(
            f"the id {quoted(document_id)} came twice in one call; expected each id once: "
            "remove or rename one of the two documents"
        )
        self.document_id = document_id


class ExistingIdError(InputError):
    """A document's id is already stored, and documents must not be replaced."""

    def __init__(self, document_id: str) -> None:
        super().__init__(
            f"the id {quoted(document_id)} is stored already; expected a new id: "
            "choose another, or allow documents to be replaced"
        )
        self.document_id = document_id


class FingerprintMismatchError(InputError):
    """Vectors of two encoders, or of two sources, would be mixed.

    An encoder's fingerprint covers its word vectors, its configuration and its fit; a source's its words and rows.

    Parameters
    ----------
    what : str
        The object that was made with the expected vectors or encoder.
    expected, found : str
        Fingerprints.
    advice : str or Advice
        What to do.
    kind : {"vectors", "encoder"}
        What the fingerprints identify.
    """

    def __init__(
        self, what: str, expected: str, found: str, advice: str | Advice, *, kind: str = "vectors"
    ) -> None:
        made = {"vectors": "vectors", "encoder": "the encoder"}[kind]
        super().__init__(
            f"{what} was made with {made} {expected[:12]}, found {quoted(found[:12])[1:-1]}; {advice}"
        )
        self.advice = advice if isinstance(advice, Advice) else None
        self.expected = expected
        self.found = found
        self.kind = kind


class HomeNotWritableError(InputError):
    """The home directory cannot be created or written."""


class DatabaseVersionError(InputError):
    """The database was written by a newer gem-index than this one."""


class MissingTargetError(InputError):
    """The package for a vector database is not installed."""

    def __init__(self, scheme: str, package: str) -> None:
        self.scheme = scheme
        self.package = package
        super().__init__(
            f"the package for {scheme} is not installed; expected it: pip install {package!r}"
        )


class TargetChangedError(InputError):
    """A vector database is not as the last push left it."""

    def __init__(self, target: str, problem: str) -> None:
        self.target = target
        super().__init__(
            f"the target {target} is not as the last push left it: {problem}; expected no other writer: "
            "choose another table, or push in full to replace it"
        )


class WorkerMismatchError(InputError):
    """A Dask worker has another version of gem-index, or other word vectors; no work was given to it.

    Parameters
    ----------
    worker : str
        Its name and address.
    problem : str
        What was found there.
    advice : str
        What to do.
    """

    def __init__(self, worker: str, problem: str, advice: str) -> None:
        self.worker = worker
        super().__init__(f"the worker {worker} {problem}; {advice}")


class PartitionError(GemIndexError):
    """A part of the inputs failed on several Dask workers.

    Parameters
    ----------
    partition : str
        The input, and where the part begins.
    reason : str
        What happened last.
    """

    def __init__(self, partition: str, reason: str) -> None:
        self.partition = partition
        self.reason = reason
        super().__init__(
            f"{quoted_path(partition)} failed on several workers: {reason}; expected one that can work on it: mend the "
            "workers, and run it again, which goes on where it stopped"
        )


class SchedulerUnavailableError(GemIndexError):
    """A Dask scheduler cannot be reached, or was lost.

    Parameters
    ----------
    scheduler : str
        Its address.
    reason : str
        What happened.
    """

    def __init__(self, scheduler: str, reason: str) -> None:
        self.scheduler = scheduler
        self.reason = reason
        super().__init__(
            f"the Dask scheduler {quoted_path(scheduler)} cannot be used: {reason}; expected a running one with workers: "
            "start it, and run it again"
        )


class TargetUnavailableError(GemIndexError):
    """A vector database cannot be reached, or is overloaded; a push has tried several times.

    Parameters
    ----------
    target : str
        Its URL without secrets.
    reason : str
        What happened, such as ``connection refused``.
    """

    def __init__(self, target: str, reason: str) -> None:
        self.target = target
        self.reason = reason
        super().__init__(
            f"the target {target} cannot be reached: {reason}; expected a server that answers: "
            "start it or wait for it, and run it again, which resumes"
        )


class RejectedDocumentsError(GemIndexError):
    """A vector database refused some documents of a batch.

    Parameters
    ----------
    target : str
        Its URL without secrets.
    reasons : mapping of str to str
        By document id.
    """

    def __init__(self, target: str, reasons: Mapping[str, str]) -> None:
        self.target = target
        self.reasons = dict(reasons)
        named = ", ".join(quoted(identifier, 60) for identifier in list(self.reasons)[:5])
        more = f" and {len(self.reasons) - 5} more" if len(self.reasons) > 5 else ""
        reason = quoted(next(iter(self.reasons.values()), ""), 200)
        super().__init__(
            f"the target {target} refused {len(self.reasons)} documents, {named}{more}: {reason}; "
            "expected all to be stored: change or delete these, and push again, which resumes"
        )


class MissingExtraError(InputError):
    """An optional dependency is needed and not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs the optional extra {extra!r}: pip install 'gem-index[{extra}]'"
        )
        self.feature = feature
        self.extra = extra


class CorruptionError(GemIndexError):
    """A stored file is not what was written."""


class DiskError(GemIndexError):
    """The disk refused to read or write."""


class CommitError(DiskError):
    """The disk failed during a commit: reopening the database shows whether the transaction was kept."""


class DownloadError(GemIndexError):
    """A server sent an error, or not the expected file; a partial file is kept unless it is wrong."""


class HomeBusyError(GemIndexError):
    """Another process held the write lock for longer than the lock timeout."""


class NotIndexedError(GemIndexError):
    """Documents are stored and searchable, but fitting their model or writing their index failed.

    Parameters
    ----------
    collection : str
        Its name.
    documents : int
        How many it holds.
    cause : Exception
        What failed.
    action : Action
        What completes the index.
    """

    def __init__(
        self, collection: str, documents: int, cause: BaseException, action: Action
    ) -> None:
        advice = Advice(action, {"collection": collection})
        interrupted = isinstance(cause, KeyboardInterrupt)
        reason = "interrupted" if interrupted else quoted_error(cause)
        first = "" if interrupted else "make room or fix the cause, then "
        super().__init__(
            f"{collection} holds its {documents} documents, all of them stored and searchable, but its index was not "
            f"written: {reason}; {first}{advice}"
        )
        self.collection = collection
        self.documents = documents
        self.advice = advice
