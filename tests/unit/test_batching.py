"""Requests of concurrent callers: who waits, who answers for whom, and what becomes of errors, interrupts and forks."""

import multiprocessing
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from gem_index import Document
from gem_index.collection.search import answer as answering
from gem_index.collection.state.batching import Batcher
from gem_index.errors import EmptyTextError, InputError


class Work:
    """Answers requests by their negatives; holds the batch of request 0 until it is released."""

    def __init__(self, error=ValueError):
        self.batches, self.error = [], error
        self.begun, self.released = threading.Event(), threading.Event()

    def __call__(self, requests):
        self.batches.append(list(requests))
        if 0 in requests:
            self.begun.set()
            assert self.released.wait(90)
        if "interrupt" in requests:
            raise KeyboardInterrupt
        if "wrong" in requests:
            raise self.error("wrong")
        return [-request for request in requests]


@pytest.fixture
def pool():
    with ThreadPoolExecutor(40) as threads:
        yield threads


def wait_until_waiting(batcher, count):
    deadline = time.monotonic() + 90
    while len(batcher._queue) < count:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def occupied(batcher, work, pool, requests):
    """Give the seat to request 0, and return the future answers of the others, which wait in this order."""
    held = pool.submit(batcher.answer, 0, work)
    assert work.begun.wait(90)
    answers = []
    for request in requests:
        answers.append(pool.submit(batcher.answer, request, work))
        wait_until_waiting(batcher, len(answers))
    return held, answers


def test_who_waits_is_answered_together_and_in_order(pool):
    batcher, work = Batcher(1), Work()
    held, answers = occupied(batcher, work, pool, range(1, 21))
    work.released.set()
    assert held.result(30) == 0
    assert [answer.result(30) for answer in answers] == [-n for n in range(1, 21)]
    assert work.batches == [[0], list(range(1, 17)), list(range(17, 21))]


def test_nobody_waits_for_a_free_seat(pool):
    batcher, work = Batcher(2), Work()
    held, _ = occupied(batcher, work, pool, [])
    assert batcher.answer(5, work) == -5
    work.released.set()
    assert held.result(30) == 0


@pytest.mark.parametrize("error", [ValueError, InputError, MemoryError, OSError, RuntimeError])
def test_an_error_reaches_only_the_caller_whose_request_it_is_of(pool, error):
    batcher, work = Batcher(1), Work(error)
    held, (first, wrong, last) = occupied(batcher, work, pool, [1, "wrong", 3])
    work.released.set()
    assert (held.result(30), first.result(30), last.result(30)) == (0, -1, -3)
    with pytest.raises(error, match="wrong"):
        wrong.result(30)
    assert batcher.answer(7, work) == -7


def test_an_interrupted_caller_leaves_nobody_waiting(pool):
    batcher, work = Batcher(1), Work()
    held, (interrupted, *others) = occupied(batcher, work, pool, ["interrupt", 1, 2])
    work.released.set()
    assert held.result(30) == 0
    with pytest.raises(KeyboardInterrupt):
        interrupted.result(30)
    assert [answer.result(30) for answer in others] == [-1, -2]
    assert batcher.answer(7, work) == -7


class InterruptedLock:
    """A lock whose second caller, the one that waits, is interrupted: while it waits, or right after."""

    def __init__(self, moment):
        self._lock, self._moment, self._asked = threading.Lock(), moment, 0
        self.interrupt = threading.Event()

    def acquire(self):
        self._asked += 1
        if self._asked == 2 and self._moment == "while it waits":
            assert self.interrupt.wait(90)
            raise KeyboardInterrupt
        self._lock.acquire()
        if self._asked == 2:
            raise KeyboardInterrupt

    def release(self):
        self._lock.release()


@pytest.mark.parametrize("moment", ["while it waits", "with the seat", "with its answer"])
def test_a_caller_that_is_interrupted(pool, moment, monkeypatch):
    interrupted = InterruptedLock(moment)
    locks = {2 if moment == "with its answer" else 1: interrupted}  # 0 is given the seat
    made = iter(range(10))
    monkeypatch.setattr(
        "gem_index.collection.state.batching.Lock",
        lambda: locks.get(next(made)) or threading.Lock(),
    )
    batcher, work = Batcher(1), Work()
    held, answers = occupied(batcher, work, pool, [1, 2, 3])
    gone = answers.pop(max(locks) - 1)
    if moment == "while it waits":
        interrupted.interrupt.set()
        with pytest.raises(KeyboardInterrupt):
            gone.result(30)
        assert len(batcher._queue) == 2
    work.released.set()
    assert held.result(30) == 0
    with pytest.raises(KeyboardInterrupt):
        gone.result(30)
    assert {answer.result(30) for answer in answers} == {-1, -2, -3} - {-max(locks)}
    assert batcher.answer(7, work) == -7
    assert not batcher._working


def test_a_forked_child_does_not_wait_for_threads_that_it_lacks(pool):
    batcher, work = Batcher(1), Work()
    held, answers = occupied(batcher, work, pool, [1])
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(
        target=lambda: sender.send(batcher.answer(5, lambda found: [-n for n in found]))
    )
    child.start()
    try:
        assert receiver.poll(30)
        assert receiver.recv() == -5
    finally:
        child.kill()
        child.join()
    work.released.set()
    assert (held.result(30), answers[0].result(30)) == (0, -1)


def test_many_callers_get_their_own_answers_of_the_newest_state(home, vectors_folder):
    home.build(
        "c",
        (Document(id=f"d{i}", text=f"open account {i}") for i in range(300)),
        vectors=str(vectors_folder),
    )
    collection = home.collection("c")
    collection.access.batcher._workers = 1

    def work(number):
        for step in range(5):
            text = f"visa {1000 + number} bank {2000 + step}"
            collection.upsert([Document(id=f"own{number}", text=text)])
            [found] = collection.search(text, k=1)
            assert (found.id, found.text) == (f"own{number}", text)
            [other] = collection.search(f"account {100 + number}", k=1, mode="lexical")
            assert other.id == f"d{100 + number}"
            with pytest.raises(EmptyTextError):
                collection.search("...")
        return number

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == list(range(8))


def test_plain_searches_wait_and_those_that_may_take_long_do_not(
    home, vectors_folder, pool, monkeypatch
):
    texts = ["open account", "renew visa", "keep phone", "bank"]
    documents = (Document(id=text, text=text, metadata={"n": 1}) for text in texts)
    home.build("c", documents, vectors=str(vectors_folder))
    collection = home.collection("c")
    collection.access.batcher._workers = 1
    batches = []
    begun, released = threading.Event(), threading.Event()
    answer_all = answering.answer_all

    def noted(access, requests, *rest, **options):
        batches.append([asked.query for asked in requests])
        if batches == [["bank"]]:
            begun.set()
            assert released.wait(90)
        return answer_all(access, requests, *rest, **options)

    monkeypatch.setattr(answering, "answer_all", noted)
    held = pool.submit(collection.search, "bank", 1)
    assert begun.wait(90)
    waiting = []
    for text in texts[:3]:
        waiting.append(pool.submit(collection.search, text, 1))
        wait_until_waiting(collection.access.batcher, len(waiting))
    for options in ({"where": {"n": 1}}, {"why": True}, {"k": 101}, {"k": None, "min_score": 0.5}):
        assert collection.search("bank", **options)[0].id == "bank"
    released.set()
    assert held.result(30)[0].id == "bank"
    assert [found.result(30)[0].id for found in waiting] == texts[:3]
    assert batches == [["bank"]] * 5 + [texts[:3]]
