"""Every error that gem-index raises on purpose.

They share one base class, so that a caller can catch all of them. Each message says in one line what was found, what was
expected and what to do. What to do is an :class:`~gem_index.errors.Advice` where Python, the command line and
the server differ in it. ``exit_status`` is the exit status of the command line: 2 if the user's input is wrong, else 1.

::

    GemIndexError
    ├── InputError                 the user's input is wrong
    │   ├── ConfigError            a configuration value that GEM or a collection cannot take
    │   │   └── ForeignTableError  a target's table that gem-index did not create
    │   ├── RecordError            one line or row of an input file (carries file and line)
    │   │   └── MissingFieldError  no field of the text (carries the fields that are probably the text)
    │   ├── UnreadableFileError    one file of a folder (carries the file)
    │   ├── EmptyTextError         a query without any word
    │   ├── FilterError            a ``where`` that is not of the documented form
    │   ├── VectorFormatError      a file of word vectors that is damaged or of another format
    │   ├── UnknownNameError       no collection, model or vectors of that name (suggests similar names)
    │   │   └── CollectionReplacedError  an open collection was dropped, and another made under its name
    │   ├── NameTakenError         the name is in use for something else
    │   ├── KeyRefusedError        a key may not make or remove another key
    │   ├── DuplicateIdError       the same document id twice in one call
    │   ├── ExistingIdError        a document id is already stored and must not be replaced
    │   ├── FingerprintMismatchError  vectors of two encoders or sources would be mixed
    │   ├── HomeNotWritableError   the home directory cannot be created or written
    │   ├── DatabaseVersionError   the database is of another version
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

from gem_index.errors.advice import Action, Advice, Message
from gem_index.errors.base import ConfigError, GemIndexError, InputError
from gem_index.errors.cluster import PartitionError, SchedulerUnavailableError, WorkerMismatchError
from gem_index.errors.home import (
    CommitError,
    CorruptionError,
    DatabaseVersionError,
    DiskError,
    HomeBusyError,
    HomeNotWritableError,
    NotIndexedError,
)
from gem_index.errors.inputs import (
    DownloadError,
    EmptyTextError,
    FilterError,
    MissingExtraError,
    MissingFieldError,
    RecordError,
    UnreadableFileError,
    VectorFormatError,
)
from gem_index.errors.names import (
    CollectionReplacedError,
    DuplicateIdError,
    ExistingIdError,
    FingerprintMismatchError,
    KeyRefusedError,
    NameTakenError,
    UnknownNameError,
)
from gem_index.errors.targets import (
    ForeignTableError,
    MissingTargetError,
    RejectedDocumentsError,
    TargetChangedError,
    TargetUnavailableError,
)

__all__ = [
    "Action",
    "Advice",
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
    "ForeignTableError",
    "GemIndexError",
    "HomeBusyError",
    "HomeNotWritableError",
    "InputError",
    "KeyRefusedError",
    "Message",
    "MissingExtraError",
    "MissingFieldError",
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
