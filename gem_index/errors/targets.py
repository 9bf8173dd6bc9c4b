"""Errors of vector databases that a collection is pushed into."""

from __future__ import annotations

from collections.abc import Mapping

from gem_index.errors.advice import Action, Advice
from gem_index.errors.base import ConfigError, GemIndexError, InputError
from gem_index.errors.installing import install_line
from gem_index.errors.quoting import quoted

__all__ = [
    "ForeignTableError",
    "MissingTargetError",
    "RejectedDocumentsError",
    "TargetChangedError",
    "TargetUnavailableError",
]


class ForeignTableError(ConfigError):
    """The name of a target's table is in use for something that gem-index did not create."""


class MissingTargetError(InputError):
    """The package for a vector database is not installed."""

    def __init__(self, scheme: str, package: str) -> None:
        self.scheme = scheme
        self.package = package
        super().__init__(
            f"the package for {scheme} is not installed; expected it",
            Advice(Action.INSTALL, {"line": install_line(package)}),
        )


class TargetChangedError(InputError):
    """A vector database is not as the last push left it."""

    def __init__(self, target: str, problem: str) -> None:
        self.target = target
        super().__init__(
            f"the target {target} is not as the last push left it: {problem}; expected no other writer: "
            "choose another table, or push in full to replace it"
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
