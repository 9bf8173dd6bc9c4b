"""Texts that arrive together are encoded together, in bounded number."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import numpy as np
import pytest

from gem_index.server.encoding import SHORT, EncodingQueue, work_of
from gem_index.server.errors import OverloadedError


class Encoder:
    """Counts what it is given; a text ``bad`` is an error; waits for ``gate``."""

    def __init__(self, name: str = "one") -> None:
        self.fingerprint = name
        self.calls: list[list[str]] = []
        self.gate = threading.Event()
        self.gate.set()

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.gate.wait(90)
        self.calls.append(list(texts))
        if "bad" in texts:
            raise ValueError("bad")
        return np.array([[float(len(text))] for text in texts], np.float32).reshape(-1, 1)


def run(work):
    async def whole():
        queue = EncodingQueue(10, 1_000_000)
        try:
            return await work(queue)
        finally:
            await queue.close()

    return asyncio.run(whole())


async def started(queue, *requests):
    """Start requests, the first of which is being encoded while the others come."""
    tasks = [asyncio.ensure_future(queue.encode(*requests[0]))]
    await asyncio.sleep(0.05)
    tasks += [asyncio.ensure_future(queue.encode(*each)) for each in requests[1:]]
    await asyncio.sleep(0.05)
    return tasks


def test_requests_that_wait_go_together_and_get_their_own():
    encoder = Encoder()

    async def work(queue):
        encoder.gate.clear()
        tasks = await started(
            queue, (encoder, ["a"]), (encoder, ["bb", "ccc"]), (encoder, ["dddd"])
        )
        assert queue.waiting == 4
        encoder.gate.set()
        found = await asyncio.gather(*tasks)
        assert [rows[:, 0].tolist() for rows in found] == [[1], [2, 3], [4]]
        assert queue.waiting == 0

    run(work)
    assert encoder.calls == [["a"], ["bb", "ccc", "dddd"]]


def test_each_encoder_by_itself():
    one, two = Encoder("one"), Encoder("two")

    async def work(queue):
        one.gate.clear()
        tasks = await started(queue, (one, ["a"]), (two, ["b"]), (one, ["c"]), (two, ["d"]))
        one.gate.set()
        await asyncio.gather(*tasks)

    run(work)
    assert (one.calls, two.calls) == ([["a"], ["c"]], [["b", "d"]])


def test_one_bad_request_does_not_fail_the_others():
    encoder = Encoder()

    async def work(queue):
        encoder.gate.clear()
        tasks = await started(queue, (encoder, ["a"]), (encoder, ["bad"]), (encoder, ["ccc"]))
        encoder.gate.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    first, second, third = run(work)
    assert (first[0, 0], third[0, 0]) == (1, 3)
    assert isinstance(second, ValueError)


def test_a_full_queue_refuses_and_recovers():
    encoder = Encoder()

    async def work(queue):
        encoder.gate.clear()
        tasks = await started(queue, (encoder, ["a"] * 8), (encoder, ["b"] * 2))
        with pytest.raises(OverloadedError, match="10 texts wait"):
            await queue.encode(encoder, ["c"])
        encoder.gate.set()
        await asyncio.gather(*tasks)
        assert (await queue.encode(encoder, ["c"])).shape == (1, 1)
        # a request larger than the bound goes alone
        assert (await queue.encode(encoder, ["c"] * 50)).shape == (50, 1)

    run(work)


def test_a_client_that_went_is_not_encoded():
    encoder = Encoder()

    async def work(queue):
        encoder.gate.clear()
        tasks = await started(queue, (encoder, ["a"]), (encoder, ["gone"]), (encoder, ["b"]))
        tasks[1].cancel()
        encoder.gate.set()
        await asyncio.gather(tasks[0], tasks[2])
        assert queue.waiting == 0

    run(work)
    assert encoder.calls == [["a"], ["b"]]


def test_closing_finishes_what_was_accepted():
    encoder = Encoder()

    async def work(queue):
        task = asyncio.ensure_future(queue.encode(encoder, ["a"]))
        await asyncio.sleep(0)
        await queue.close()
        assert (await task)[0, 0] == 1

    asyncio.run(work(EncodingQueue(10, 1_000_000)))


LONG = ["x" * 40_000] * 4  # four slices


def test_a_short_request_does_not_wait_for_a_long_one():
    encoder, blocked = Encoder(), Encoder()

    async def work(queue):
        blocked.gate.clear()
        long = asyncio.ensure_future(queue.encode(blocked, LONG))
        await asyncio.sleep(0.05)
        found = await asyncio.wait_for(queue.encode(encoder, ["short"]), 60)
        assert not long.done()
        blocked.gate.set()
        assert (await long).shape == (4, 1)
        return found

    assert run(work).tolist() == [[5]]


def test_long_requests_take_turns():
    encoder = Encoder()

    async def work(queue):
        encoder.gate.clear()
        tasks = await started(queue, (encoder, LONG), (encoder, ["y" * 50_000] * 2))
        encoder.gate.set()
        found = await asyncio.gather(*tasks)
        assert [rows[:, 0].tolist() for rows in found] == [[40_000] * 4, [50_000] * 2]

    run(work)
    assert "".join(call[0][0] for call in encoder.calls) == "xyxyxx"


def test_what_a_client_that_left_has_not_had_yet_is_not_encoded():
    encoder = Encoder()

    async def work(queue):
        encoder.gate.clear()
        [task] = await started(queue, (encoder, LONG))
        task.cancel()
        await asyncio.sleep(0)
        encoder.gate.set()
        assert (await queue.encode(encoder, ["z" * 5000])).shape == (1, 1)

    run(work)
    assert [call[0][0] for call in encoder.calls] == ["x", "z"]


def test_work_that_waits_is_bounded_by_characters():
    encoder = Encoder()

    async def work(queue):
        encoder.gate.clear()
        tasks = await started(queue, (encoder, ["a" * 990_000]))
        with pytest.raises(OverloadedError, match="990001 characters of texts wait"):
            await queue.encode(encoder, ["b" * 10_001])
        encoder.gate.set()
        await asyncio.gather(*tasks)

    run(work)


def test_no_text_and_the_bound_of_short_requests():
    encoder = Encoder()

    async def work(queue):
        assert (await queue.encode(encoder, [])).shape[0] == 0
        assert work_of(["a" * (SHORT - 1)]) == SHORT

    run(work)
