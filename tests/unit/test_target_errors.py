"""The errors of vector databases: what each says, and what a caller can ask it."""

import pytest

from gem_index.errors import (
    ConfigError,
    ForeignTableError,
    GemIndexError,
    InputError,
    MissingTargetError,
    RejectedDocumentsError,
    TargetChangedError,
    TargetUnavailableError,
)


@pytest.mark.parametrize(
    ("error", "kind", "attributes", "message"),
    [
        (ForeignTableError("taken"), ConfigError, {}, "taken"),
        (
            MissingTargetError("qdrant", "gem-index-qdrant"),
            InputError,
            {"scheme": "qdrant", "package": "gem-index-qdrant"},
            "the package for qdrant is not installed; expected it",
        ),
        (
            TargetChangedError("db://t", "a row is gone"),
            InputError,
            {"target": "db://t"},
            "the target db://t is not as the last push left it: a row is gone; expected no other writer: choose another "
            "table, or push in full to replace it",
        ),
        (
            TargetUnavailableError("db://t", "connection refused"),
            GemIndexError,
            {"target": "db://t", "reason": "connection refused"},
            "the target db://t cannot be reached: connection refused; expected a server that answers: start it or wait for "
            "it, and run it again, which resumes",
        ),
        (
            RejectedDocumentsError("db://t", {str(n): f"too long {n}" for n in range(5)}),
            GemIndexError,
            {"target": "db://t", "reasons": {str(n): f"too long {n}" for n in range(5)}},
            "the target db://t refused 5 documents, '0', '1', '2', '3', '4': 'too long 0'; expected all to be stored: "
            "change or delete these, and push again, which resumes",
        ),
        (
            RejectedDocumentsError("db://t", {str(n): "no" for n in range(6)}),
            GemIndexError,
            {"target": "db://t", "reasons": {str(n): "no" for n in range(6)}},
            "the target db://t refused 6 documents, '0', '1', '2', '3', '4' and 1 more: 'no'; expected all to be stored: "
            "change or delete these, and push again, which resumes",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_the_message_and_the_attributes(error, kind, attributes, message):
    assert isinstance(error, kind)
    assert isinstance(error, InputError) == issubclass(kind, InputError)
    assert {name: getattr(error, name) for name in attributes} == attributes
    assert str(error).startswith(message)
