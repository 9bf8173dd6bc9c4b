"""What is asked of a client and its workers, and what their answers lead to, with a client that answers at once."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import CancelledError
from contextlib import nullcontext
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from distributed.comm import CommClosedError

import distributed
from gem_index.distributed import cluster
from gem_index.distributed.cluster import Cluster
from gem_index.distributed.tasks import Task, WorkerFault, attempt
from gem_index.errors import (
    ConfigError,
    InputError,
    PartitionError,
    SchedulerUnavailableError,
    WorkerMismatchError,
)

HERE = "tcp://here:8786"


class KilledWorker(Exception):  # noqa: N818 - named like the one of Dask
    pass


@dataclass(eq=False)
class Done:
    """A future that is done."""

    status: str
    value: Any = None
    error: BaseException | None = None

    def result(self):
        if self.error is not None:
            raise self.error
        return self.value

    def exception(self):
        return self.error


class AnswersAtOnce:
    """A client whose workers have one letter each as address; it runs a task on the first worker that may run it.

    ``answers`` has what functions return or raise: by name, or by worker and name.
    """

    def __init__(self, workers="a", threads=1, **answers):
        self.workers = {each: {"name": f"w{each}", "nthreads": threads} for each in workers}
        self.answers = answers
        self.status = "running"
        self.scheduler = SimpleNamespace(address=HERE, identity=None)
        self.submitted, self.plugins, self.cancelled, self.here = [], [], [], ""

    def wait_for_workers(self, _count, timeout):
        if not self.workers:
            raise TimeoutError

    def sync(self, _identity, n_workers):
        assert n_workers == -1
        return {"workers": dict(self.workers)}

    def run(self, _in_thread, function, *arguments, workers, on_error):
        assert on_error == "return"
        return {each: self._answer(each, function, arguments) for each in workers}

    def _answer(self, worker, function, arguments):
        name = function.__name__
        for key in (f"{worker}_{name}", name):
            if key in self.answers:
                return self.answers[key]
        return function(*arguments)

    def submit(self, ran, _version, place, function, *arguments, key, pure, workers):
        assert ran is attempt
        assert not pure
        self.submitted.append((place, workers))
        self.here = next(iter(workers or self.workers))
        try:
            return Done("finished", function(*arguments))
        except Exception as error:  # noqa: BLE001 - a task may raise anything
            return Done("error", error=error)

    def cancel(self, futures, force):
        assert force
        self.cancelled.append(len(futures))

    def as_current(self):
        return nullcontext()

    def register_plugin(self, _plugin, name):
        self.plugins.append(name)

    def unregister_worker_plugin(self, name):
        self.plugins.remove(name)


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(distributed, "wait", lambda *_args, **_options: None)
    monkeypatch.setattr(cluster, "_POLL", 0)


def lost(reason):
    return (
        f"the Dask scheduler {HERE} cannot be used: {reason}; expected a running scheduler with workers: start it, and "
        "run it again"
    )


class TestConnecting:
    def test_a_client_of_an_event_loop_is_refused(self):
        client = AnswersAtOnce()
        client.asynchronous = True
        with pytest.raises(ConfigError) as refused:
            Cluster(client)
        assert str(refused.value) == (
            "the client is asynchronous; expected a Client without asynchronous=True"
        )

    def test_no_worker_in_time(self):
        with pytest.raises(SchedulerUnavailableError) as refused:
            Cluster(AnswersAtOnce(""))
        assert str(refused.value) == lost("it has had no worker for 60 seconds")

    def test_a_client_without_a_scheduler(self):
        client = AnswersAtOnce()
        client.scheduler = None
        with pytest.raises(SchedulerUnavailableError) as refused:
            Cluster(client)
        assert str(refused.value) == lost("the connection is closed").replace(HERE, "of the client")

    @pytest.mark.parametrize(
        ("found", "told"),
        [
            ("9.9", "has gem-index 9.9, found 0.1.0 here; install the same version there"),
            (ValueError("no such package"), "has no gem-index (no such package); install it there"),
        ],
    )
    def test_a_worker_of_another_version_is_named(self, found, told):
        with pytest.raises(WorkerMismatchError) as refused:
            Cluster(AnswersAtOnce("abc", b_version=found, version="0.1.0"))
        assert str(refused.value) == f"the worker wb (b) {told}"


class TestEncoders:
    @pytest.mark.parametrize("problem", ["too many open files", OSError(24, "Too many open files")])
    def test_a_worker_that_cannot_open_the_encoder_is_named(self, encoder, problem):
        client = AnswersAtOnce("ab", check_encoder="", b_check_encoder=problem)
        found = Cluster(client)
        with pytest.raises(WorkerMismatchError) as refused, found.having(encoder):
            pass
        assert str(refused.value) == (
            "the worker wb (b) cannot open the encoder: too many open files; mend it or stop it"
        )
        assert client.plugins == []

    def test_a_worker_without_room_is_told_to_make_some(self, encoder):
        client = AnswersAtOnce(
            receive=OSError(28, "No space left on device"),
            missing_sources=[SimpleNamespace(folder="/nowhere")],
        )
        found = Cluster(client)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cluster.shipping, "file_chunks", lambda _: [("words.txt", b"tea")])
            with pytest.raises(WorkerMismatchError) as refused, found.having(encoder):
                pass
        assert str(refused.value) == (
            "the worker a cannot keep the word vectors: no space left on device; make room there"
        )

    def test_workers_are_told_of_an_encoder_until_the_end_of_its_work(self, encoder):
        client = AnswersAtOnce(check_encoder="")
        found = Cluster(client)
        with found.having(encoder) as shipped:
            [name] = client.plugins
            assert name.startswith(f"gem-index {encoder.fingerprint[:16]} ")
            assert shipped.fingerprint == encoder.fingerprint
        assert client.plugins == []
        with pytest.raises(ZeroDivisionError), found.having(encoder):
            raise ZeroDivisionError
        assert client.plugins == []
        with found.having(encoder):
            client.status = "closed"  # a scheduler that is gone is told nothing
        assert len(client.plugins) == 1


class TestAnswers:
    def test_workers_that_have_left_do_not_answer(self):
        client = AnswersAtOnce("abcd")
        found = Cluster(client)
        full = OSError(28, "No space left on device")
        client.answers = {"a_getpid": 7, "b_getpid": CommClosedError("gone"), "c_getpid": full}
        client.answers["d_getpid"] = OSError("timed out")
        ask = client.run

        def asked(*arguments, **options):
            answers = ask(*arguments, **options)
            client.workers.pop("d", None)
            return answers

        client.run = asked
        assert found.on_all(SimpleNamespace(__name__="getpid")) == {"wa (a)": 7, "wc (c)": full}

    @pytest.mark.parametrize("error", [OSError("cut off"), RuntimeError("cut off")])
    def test_a_scheduler_that_is_silent_for_a_moment_is_asked_again(self, error):
        client = AnswersAtOnce()
        found = Cluster(client)
        errors, answer = [error] * 3, client.sync

        def sync(*arguments, **options):
            if errors:
                raise errors.pop()
            return answer(*arguments, **options)

        client.sync = sync
        assert found.on_all(str) == {"wa (a)": ""}
        errors[:] = [error] * 4
        with pytest.raises(SchedulerUnavailableError) as refused:
            found.on_all(str)
        assert str(refused.value) == lost("cut off")
        assert not errors
        errors[:] = [OSError()] * 4
        client.status = "closed"
        with pytest.raises(SchedulerUnavailableError) as refused:
            found.on_all(str)
        assert str(refused.value) == lost("OSError")
        assert len(errors) == 3  # a closed client is not asked again

    def test_a_client_that_has_lost_its_scheduler(self):
        client = AnswersAtOnce()
        found = Cluster(client)
        client.scheduler = None
        with pytest.raises(SchedulerUnavailableError) as refused:
            found.on_all(str)
        assert str(refused.value) == lost("the connection is closed")


def run(client, function, *arguments):
    """Return the result of one task."""
    started = Cluster(client)
    [(_, future)] = started.run_all([Task("a.txt", function, arguments)])
    return started.result(future)


class TestFailures:
    def refusing(self, client, *workers):
        """Return a function that these workers refuse."""

        def refuse():
            if client.here in workers:
                raise WorkerFault(client.here, f"w{client.here}", f"{client.here} is full")
            return client.here

        return refuse

    def test_what_machines_refuse_runs_on_another(self, caplog):
        client = AnswersAtOnce("abc")
        with caplog.at_level(logging.WARNING, "gem_index.distributed"):
            assert run(client, self.refusing(client, "a", "b")) == "c"
        assert client.submitted == [("a.txt", None), ("a.txt", ["b", "c"]), ("a.txt", ["c"])]
        assert caplog.messages == [
            "a.txt runs again: worker wa: a is full",
            "a.txt runs again: worker wb: b is full",
        ]

    @pytest.mark.parametrize(("workers", "tried"), [("a", "a"), ("ab", "ab"), ("abcdef", "abcd")])
    def test_what_all_or_four_machines_refuse_is_told_with_the_last_reason(self, workers, tried):
        client = AnswersAtOnce(workers)
        with pytest.raises(PartitionError) as refused:
            run(client, self.refusing(client, *workers))
        assert len(client.submitted) == len(tried)
        assert (refused.value.partition, refused.value.reason) == (
            "a.txt",
            f"worker w{tried[-1]}: {tried[-1]} is full",
        )

    def test_what_ends_its_workers_is_tried_twice(self):
        def kill():
            raise KilledWorker

        client = AnswersAtOnce("ab")
        with pytest.raises(PartitionError) as refused:
            run(client, kill)
        assert client.submitted == [("a.txt", None)] * 2
        assert refused.value.reason == "its workers died, perhaps for lack of memory"

    @pytest.mark.parametrize(
        ("error", "raised", "told"),
        [
            (InputError("found no text; expected one"), InputError, "found no text; expected one"),
            (KeyError("a\nb"), PartitionError, None),
        ],
    )
    def test_what_is_no_fault_of_a_machine_is_not_tried_again(self, error, raised, told):
        def fail():
            raise error

        client = AnswersAtOnce("ab")
        with pytest.raises(raised) as refused:
            run(client, fail)
        assert client.submitted == [("a.txt", None)]
        if told is None:
            assert refused.value.reason == r"KeyError 'a\nb'"
        else:
            assert refused.value is error

    @pytest.mark.parametrize("error", [CancelledError(), asyncio.CancelledError(), OSError("cut")])
    def test_a_result_that_is_gone(self, error):
        with pytest.raises(SchedulerUnavailableError) as refused:
            Cluster(AnswersAtOnce()).result(Done("finished", error=error))
        assert str(refused.value) == lost(
            "cut" if isinstance(error, OSError) else type(error).__name__
        )

    @pytest.mark.parametrize(
        ("happens", "told"),
        [
            (CancelledError(), "its tasks are gone"),
            (asyncio.CancelledError(), "its tasks are gone"),
            (OSError("cut off"), "cut off"),
            (RuntimeError("cut off"), "cut off"),
            ("cancelled", "its tasks are gone"),
            ("closed", "the connection is closed"),
        ],
    )
    def test_a_scheduler_that_is_lost_during_the_work(self, monkeypatch, happens, told):
        client = AnswersAtOnce()

        def wait(futures, **_options):
            if isinstance(happens, BaseException):
                raise happens
            if happens == "closed":
                client.status = happens
            else:
                futures[0].status = happens

        monkeypatch.setattr(distributed, "wait", wait)
        tasks = [Task(str(i), str, ()) for i in range(2)]
        with pytest.raises(SchedulerUnavailableError) as refused:
            list(Cluster(client).run_all(tasks))
        assert str(refused.value) == lost(told)
        assert client.cancelled == ([] if happens == "closed" else [2])


class TestTasks:
    @pytest.mark.parametrize(("workers", "threads", "most"), [("a", 1, 8), ("abc", 2, 12)])
    def test_a_bounded_number_is_given_at_a_time(self, workers, threads, most):
        client, taken = AnswersAtOnce(workers, threads), []

        def next_task():
            if len(taken) == 100:
                return None
            taken.append(len(taken))
            return Task(str(taken[-1]), str, (), taken[-1])

        running = Cluster(client).run(next_task)
        next(running)
        assert len(taken) == most
        running.close()
        assert client.cancelled == [most - 1]
        assert len(list(Cluster(client).run(next_task))) == 100 - most

    def test_results_have_the_order_of_the_calls(self, monkeypatch):
        """The last task that is given ends first."""
        client = AnswersAtOnce()

        def wait(futures, **_options):
            for future in futures:
                future.status = "pending"
            futures[-1].status = "finished"

        monkeypatch.setattr(distributed, "wait", wait)
        assert Cluster(client).map(max, [(i, 3) for i in range(9)]) == [3, 3, 3, *range(3, 9)]
        assert [place for place, _ in client.submitted] == list("012345678")


class TestOnAWorker:
    @pytest.fixture(autouse=True)
    def worker(self, monkeypatch):
        found = SimpleNamespace(name="w1", address="tcp://a:1")
        monkeypatch.setattr(distributed, "get_worker", lambda: found)

    @pytest.mark.parametrize(
        ("error", "told"),
        [
            (OSError(28, "No space left on device"), "no space left on device"),
            (MemoryError(), "MemoryError"),
        ],
    )
    def test_a_fault_of_its_machine_is_told_with_its_name(self, caplog, error, told):
        def fail():
            raise error

        with caplog.at_level(logging.WARNING), pytest.raises(WorkerFault) as fault:
            attempt("0.1.0", "a.txt", fail)
        assert fault.value.args == ("tcp://a:1", "w1 (tcp://a:1)", told)
        assert caplog.messages == [f"a.txt: {told}"]

    def test_a_bad_input_is_told_as_it_is(self, caplog):
        error = InputError("found no text; expected one")

        def fail():
            raise error

        with caplog.at_level(logging.WARNING), pytest.raises(InputError) as refused:
            attempt("0.1.0", "a.txt", fail)
        assert refused.value is error
        assert caplog.messages == ["a.txt: found no text; expected one"]

    def test_a_task_of_another_version_is_not_done(self):
        with pytest.raises(WorkerMismatchError) as refused:
            attempt("0.2.0", "a.txt", list, 1 / 3)
        assert str(refused.value) == (
            "the worker w1 (tcp://a:1) has gem-index 0.1.0, found 0.2.0 here; install the same version there"
        )
        assert attempt("0.1.0", "a.txt", max, 1, 2) == 2
