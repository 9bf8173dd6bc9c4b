"""Errors of requests: their HTTP status, and the shape in which each imitated interface says them."""

from __future__ import annotations

from gem_index import errors

__all__ = ["ForbiddenError", "OverloadedError", "TooLargeError", "UnauthorizedError", "status_of"]


class OverloadedError(errors.GemIndexError):
    """Too many texts wait to be encoded."""

    def __init__(self, waiting: int) -> None:
        super().__init__(f"{waiting} texts wait to be encoded; try again in a second")


class TooLargeError(errors.InputError):
    """A request holds more than the server takes."""


class UnauthorizedError(errors.InputError):
    """A request has no key, or an unknown one."""


class ForbiddenError(errors.InputError):
    """A key does not give the right that a request needs."""


_STATUS: tuple[tuple[type[Exception], int], ...] = (
    (UnauthorizedError, 401),
    (ForbiddenError, 403),
    (errors.UnknownNameError, 404),
    (errors.NameTakenError, 409),
    (errors.ExistingIdError, 409),
    (errors.FingerprintMismatchError, 409),
    (TooLargeError, 413),
    (OverloadedError, 429),
    (errors.HomeBusyError, 503),
    (errors.TargetUnavailableError, 503),
    (errors.EmptyTextError, 422),
    (errors.InputError, 400),
)


def status_of(error: Exception) -> int:
    """Return the HTTP status of an error; 500 for what is no fault of a request."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
