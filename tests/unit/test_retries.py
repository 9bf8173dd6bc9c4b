"""Calls of a database that is unavailable for a while: their number, their waits and their last error."""

import pytest

from gem_index.errors import TargetUnavailableError
from gem_index.targets import retries
from gem_index.targets.retries import with_retries


@pytest.fixture
def waits(monkeypatch):
    """Record the waits instead of waiting; jitter is 0.25 s."""
    waits = []
    monkeypatch.setattr(retries.time, "sleep", waits.append)
    monkeypatch.setattr(retries.random, "uniform", lambda low, high: (low + high) / 2)
    return waits


def unavailable(times):
    """Return a function that fails a number of times, and the list of its arguments."""
    calls = []

    def call(*args, **kwargs):
        calls.append((args, kwargs))
        if len(calls) <= times:
            raise TargetUnavailableError("x://host", f"attempt {len(calls)}")
        return len(calls)

    return call, calls


def test_an_available_database_is_called_once(waits):
    call, calls = unavailable(0)
    assert with_retries(call, 1, k=2) == 1
    assert calls == [((1,), {"k": 2})]
    assert waits == []


def test_waits_double_up_to_the_longest(waits):
    call, calls = unavailable(6)
    assert with_retries(call, 1, k=2) == 7
    assert calls == [((1,), {"k": 2})] * 7
    assert waits == [0.75, 1.25, 2.25, 4.25, 8.25, 15.25]


def test_the_last_attempt_raises_its_error_without_a_wait(waits):
    call, calls = unavailable(7)
    with pytest.raises(TargetUnavailableError, match="attempt 7") as raised:
        with_retries(call)
    assert len(calls) == 7
    assert len(waits) == 6
    assert raised.value.__context__ is None


def test_other_errors_are_not_repeated(waits):
    def fail():
        calls.append(1)
        raise ValueError("wrong")

    calls = []
    with pytest.raises(ValueError, match="wrong"):
        with_retries(fail)
    assert (len(calls), waits) == (1, [])
