"""What passes before a request is answered, and what is written of it."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time

import pytest
from fastapi.responses import StreamingResponse
from fastapi.testclient import TestClient

from gem_index import Home
from gem_index.collection import Collection
from gem_index.collection.search import answer as answering
from gem_index.collection.state.batching import LARGEST_BATCH
from gem_index.errors import ConfigError, CorruptionError, DiskError
from gem_index.server import guard
from gem_index.server.app import create_app
from gem_index.server.context import ServerContext
from gem_index.server.errors import OverloadedError, ShuttingDownError, WriterBusyError
from gem_index.server.running import JsonFormatter
from gem_index.server.settings import Limits


def limited(home, **limits):
    return TestClient(create_app(home, limits=Limits(**limits)))


@pytest.mark.parametrize("value", [0, -1, float("inf"), float("nan")])
def test_limits_are_numbers_above_0(value):
    with pytest.raises(ConfigError, match=f"the limit body is {value}; expected more than 0"):
        Limits(body=value)


class TestBodies:
    def test_compressed_ones_are_refused(self, home):
        with limited(home) as client:
            for path in ("/v1/embeddings", "/collections/faq/documents/stream"):
                answer = client.post(path, content=b"x", headers={"Content-Encoding": "gzip"})
                assert answer.status_code == 415
                told = "the header Content-Encoding is 'gzip'; expected none"
                assert answer.json()["error"]["message"] == told

    def test_too_large_by_its_length(self, home):
        with limited(home, body=100) as client:
            answer = client.post("/v1/embeddings", content=b" " * 101)
            assert answer.status_code == 413
            assert (
                answer.json()["error"]["message"] == "the body has 101 bytes; expected at most 100"
            )
            assert answer.headers["connection"] == "close"

    def test_too_large_in_parts(self, home):
        with limited(home, body=100) as client:
            answer = client.post("/v1/embeddings", content=(b" " * 50 for _ in range(3)))
            assert answer.status_code == 413
            assert (
                answer.json()["error"]["message"]
                == "the body has more than 100 bytes; expected fewer"
            )

    @pytest.mark.parametrize("size", [25, 100])
    def test_a_body_as_large_as_the_limits_is_read(self, home, size):
        body = b'{"input": "a"}'.ljust(100)
        with limited(home, body=100, memory=100) as client:
            parts = (body[begin : begin + size] for begin in range(0, 100, size))
            for content in (body, parts):
                answer = client.post("/v1/embeddings", content=content)
                assert answer.status_code == 200, answer.text

    def test_bodies_of_all_requests_are_bounded(self, home):
        with limited(home, memory=100) as client:
            answer = client.post("/v1/embeddings", content=b" " * 101)
            assert answer.status_code == 503
            assert answer.headers["retry-after"] == "1"
            # what the refused one held is free again
            assert client.post("/v1/embeddings", content=b'{"input": "a"}').status_code == 200

    def test_answers_count_until_they_are_sent(self, home):
        with limited(home, memory=1 << 20) as client:
            assert client.post("/embed", json={"inputs": ["a"] * 100}).status_code == 200
            answer = client.post("/embed", json={"inputs": ["a"] * 1000})
            assert answer.status_code == 503
            assert answer.json()["error"].startswith("other requests and their answers fill")
            # what was not sent is released
            assert client.post("/embed", json={"inputs": ["a"] * 100}).status_code == 200

    def test_an_answer_in_parts_begins_before_its_first_part(self, home):
        app = create_app(home)
        sent = []

        async def parts():
            sent.append("a part is made")
            yield b"a"

        @app.get("/parts")
        async def in_parts():
            return StreamingResponse(parts(), media_type="text/plain")

        async def ask():
            async def receive():
                await asyncio.sleep(20)

            async def send(message):
                sent.append(message["type"])

            scope = {"type": "http", "method": "GET", "path": "/parts", "query_string": b""}
            scope |= {"headers": [(b"host", b"localhost")], "http_version": "1.1", "scheme": "http"}
            async with app.router.lifespan_context(app):
                await app(scope, receive, send)

        asyncio.run(ask())
        assert sent[:3] == ["http.response.start", "a part is made", "http.response.body"]

    def test_work_of_a_client_that_left_ends(self, home, monkeypatch, logged):
        monkeypatch.setattr(guard, "_WATCHED_AFTER", 0.01)
        app = create_app(home)
        ended = []

        @app.get("/slow")
        async def slow():
            try:
                await asyncio.sleep(20)
            except asyncio.CancelledError:
                ended.append(True)
                raise

        async def leave():
            async def receive():
                return {"type": "http.disconnect"}

            async def send(message):
                ended.append(message)

            scope = {"type": "http", "method": "GET", "path": "/slow", "query_string": b""}
            scope |= {"headers": [(b"host", b"localhost")], "http_version": "1.1", "scheme": "http"}
            async with app.router.lifespan_context(app):
                await app(scope, receive, send)

        asyncio.run(leave())
        assert ended == [True]
        [line] = map(json.loads, logged)
        assert (line["status"], line["route"]) == (499, "/slow")

    @pytest.mark.parametrize("waited", [0, 0.1])
    def test_nothing_watches_a_client_after_its_answer(self, home, monkeypatch, waited):
        monkeypatch.setattr(guard, "_WATCHED_AFTER", 0.05)
        app = create_app(home)

        @app.get("/slow")
        async def slow():
            await asyncio.sleep(waited)

        async def ask():
            async def receive():
                return await asyncio.sleep(20)

            async def send(message):
                pass

            scope = {"type": "http", "method": "GET", "path": "/slow", "query_string": b""}
            scope |= {"headers": [(b"host", b"localhost")], "http_version": "1.1", "scheme": "http"}
            async with app.router.lifespan_context(app):
                before = asyncio.all_tasks()
                await app(scope, receive, send)
                await asyncio.sleep(0.1)
                return asyncio.all_tasks() - before

        assert asyncio.run(ask()) == set()

    def test_a_body_that_does_not_arrive(self, home):
        app = create_app(home, limits=Limits(seconds=0.2))

        async def slow():
            sent = []

            async def receive():
                await asyncio.sleep(30)

            async def send(message):
                sent.append(message)

            headers = [(b"content-length", b"10"), (b"host", b"localhost")]
            scope = {"type": "http", "method": "POST", "path": "/embed", "headers": headers}
            scope |= {
                "query_string": b"",
                "http_version": "1.1",
                "scheme": "http",
                "server": ("a", 1),
            }
            async with app.router.lifespan_context(app):
                await app(scope, receive, send)
            return sent

        start, body = asyncio.run(slow())
        assert start["status"] == 408
        assert json.loads(body["body"])["error"].startswith(
            "the body did not arrive in 0.2 seconds"
        )


class TestFailures:
    def test_what_clients_are_not_told_is_logged_with_the_id(self, home, logged, monkeypatch):
        home.create_collection("faq")

        def fail(*_arguments, **_options):
            raise DiskError("writing /secret/place failed")

        monkeypatch.setattr(Collection, "upsert", fail)
        monkeypatch.setattr(Collection, "refit", fail)
        told = "the disk failed or is full; the server's log says more"
        with TestClient(create_app(home)) as client:
            row = {"id": "1", "text": "a"}
            for method, path, body, accepted in (
                ("PUT", "documents", {"documents": [row]}, "*/*"),
                ("POST", "documents/stream", row, "*/*"),
                ("POST", "refit", None, "*/*"),
                ("POST", "refit", None, "text/event-stream"),
            ):
                head = {"X-Request-ID": f"id-{len(path)}", "Accept": accepted}
                logged.clear()
                answer = client.request(method, f"/collections/faq/{path}", json=body, headers=head)
                assert told in answer.text
                assert "/secret" not in answer.text
                assert answer.status_code == (507 if accepted == "*/*" else 200)
                lines = [json.loads(line) for line in logged]
                found = [line for line in lines if line["level"] == "error"]
                assert [line["request"] for line in found] == [f"id-{len(path)}"]
                assert found[0]["detail"] == "writing /secret/place failed"

    def test_a_fault_while_events_are_sent_is_the_last_one(self, home, logged, monkeypatch):
        home.create_collection("faq")

        def fail(*_arguments, **_options):
            raise ZeroDivisionError("a text")

        monkeypatch.setattr(Collection, "refit", fail)
        with TestClient(create_app(home)) as client:
            head = {"Accept": "text/event-stream"}
            answer = client.post("/collections/faq/refit", headers=head)
        assert answer.text.startswith("event: error\ndata: ")
        assert json.loads(answer.text.partition("data: ")[2])["status"] == 500
        assert "ZeroDivisionError" in "".join(logged)
        assert "a text" not in "".join(logged)

    def test_what_takes_longer_than_the_shutdown_is_told_so(self, home, logged, monkeypatch):
        home.create_collection("faq")
        app, sent = create_app(home), []
        begun, over, refitted = threading.Event(), threading.Event(), []

        def refit(*_arguments, **_options):
            begun.set()
            refitted.append(over.wait(90))

        monkeypatch.setattr(Collection, "refit", refit)

        async def shut_down():
            async def receive():
                return {"type": "http.request", "body": b"", "more_body": False}

            async def send(message):
                sent.append(message)

            path = "/collections/faq/refit"
            scope = {"type": "http", "method": "POST", "path": path}
            scope |= {"headers": [(b"host", b"localhost")]}
            scope |= {"query_string": b"", "http_version": "1.1", "scheme": "http"}
            async with app.router.lifespan_context(app):
                request = asyncio.create_task(app(scope, receive, send))
                assert await asyncio.to_thread(begun.wait, 20)
                request.cancel()  # as uvicorn does
                await request
                over.set()

        asyncio.run(shut_down())
        assert refitted == [True]
        assert sent[0]["status"] == 503
        assert "the server is shutting down" in json.loads(sent[1]["body"])["error"]["message"]
        assert [json.loads(line)["level"] for line in logged] == ["info"]

    def test_an_aborted_upload_is_no_fault_of_the_server(self, home, logged):
        app = create_app(home)
        sent = []

        async def abort():
            async def receive():
                return {"type": "http.disconnect"}

            async def send(message):
                sent.append(message)

            headers = [(b"content-length", b"10"), (b"host", b"localhost")]
            scope = {"type": "http", "method": "POST", "path": "/embed", "headers": headers}
            scope |= {"query_string": b"", "http_version": "1.1", "scheme": "http"}
            async with app.router.lifespan_context(app):
                await app(scope, receive, send)

        asyncio.run(abort())
        assert not sent
        [line] = map(json.loads, logged)
        assert (line["level"], line["status"], line["route"]) == ("info", 499, "/embed")

    def test_a_failure_is_500_and_quotes_nothing(self, home, monkeypatch, logged):
        def broken(self, texts):
            raise RuntimeError(f"cannot encode {texts}")

        with TestClient(create_app(home)) as client:
            encoder = client.app.state.context.models.default()
            monkeypatch.setattr(type(encoder), "encode", broken)
            answer = client.post("/v1/embeddings", json={"input": "a secret text"})
            assert answer.status_code == 500
            assert answer.json()["error"]["type"] == "server_error"
            assert "secret" not in answer.text
            assert client.get("/health").status_code == 200
        [line] = [each for each in logged if json.loads(each)["level"] == "error"]
        assert json.loads(line)["error"] == "RuntimeError"
        assert json.loads(line)["request"] == answer.headers["x-request-id"]
        assert any("test_guard.py" in place for place in json.loads(line)["at"])
        assert "secret" not in line


class TestWhoIsRefused:
    """The whole message for a request that does not come from this server's own pages or clients."""

    HOSTS = frozenset({"localhost", "shop.example"})

    @pytest.mark.parametrize(
        ("headers", "status", "told"),
        [
            (
                {"Host": "Evil.example:80"},
                403,
                "the header Host is 'evil.example:80'; expected a name of this server: start it with this name too",
            ),
            ({"Host": "Shop.Example:443"}, 200, ""),
            ({"Host": "shop.example:x"}, 403, "the header Host is 'shop.example:x'; expected a name of this server: "
             "start it with this name too"),
            (
                {"Host": "localhost", "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},
                403,
                "the header Sec-Fetch-Site says that a page of another site sends this; expected a page of this server",
            ),
            ({"Host": "localhost", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 200, ""),
            ({"Host": "localhost", "Sec-Fetch-Site": "same-origin"}, 200, ""),
            (
                {"Host": "localhost", "Origin": "http://Evil.example"},
                403,
                "the header Origin is 'http://evil.example'; expected a page of this server, or an origin that it allows",
            ),
            ({"Host": "localhost", "Origin": "HTTP://LOCALHOST"}, 200, ""),
            ({"Host": "localhost:80", "Origin": "https://localhost:80"}, 403, None),
            ({"Host": "shop.example", "Origin": "https://shop.example"}, 200, ""),  # by a proxy with TLS
            ({"Host": "shop.example", "Origin": "http://shop.example"}, 200, ""),
            ({"Host": "localhost", "Content-Encoding": "identity"}, 200, ""),
            ({"Host": "localhost", "Content-Encoding": ""}, 200, ""),
            (
                {"Host": "localhost", "Content-Encoding": "br"},
                415,
                "the header Content-Encoding is 'br'; expected none",
            ),
        ],
    )  # fmt: skip
    def test_each_is_told(self, home, headers, status, told):
        with TestClient(create_app(home, hosts=self.HOSTS)) as client:
            answer = client.get("/health", headers=headers)
        assert answer.status_code == status
        if status != 200 and told is not None:
            assert answer.json()["error"]["message"] == told

    def test_a_large_stream_may_say_its_length(self, home):
        home.create_collection("faq")
        with limited(home, body=1000) as client:
            lines = b"".join(b'{"id": "%d", "text": "a"}\n' % number for number in range(100))
            head = {"Content-Type": "application/x-ndjson"}
            path = "/collections/faq/documents/stream"
            assert client.post(path, content=lines, headers=head).status_code == 200


class TestLog:
    def test_a_failure_is_logged_with_the_innermost_places(self, logged):
        def deep(number):
            if number:
                deep(number - 1)
            raise ZeroDivisionError("a text")

        try:
            deep(12)
        except ZeroDivisionError as error:
            guard.note_failure(error, "id-1")
        [line] = map(json.loads, logged)
        assert len(line.pop("time")) == len("2026-01-01T00:00:00.000Z")
        places = line.pop("at")
        assert len(places) == 8
        assert all(place.endswith(" deep") for place in places)
        assert line == {
            "level": "error",
            "logger": "gem_index.server",
            "message": "a request failed",
            "request": "id-1",
            "error": "ZeroDivisionError",
        }

    @pytest.mark.parametrize(
        ("error", "noted"),
        [(DiskError("x"), True), (ShuttingDownError(), False), (WriterBusyError(), False),
         (OverloadedError(1, "texts"), False), (CorruptionError("x"), True)],
    )  # fmt: skip
    def test_errors_whose_message_the_client_has_are_not_logged(self, logged, error, noted):
        guard.log_server_error(error, "id-1")
        assert bool(logged) == noted

    @pytest.mark.usefixtures("another_time_zone")
    def test_a_line_is_json_with_the_time_in_utc(self):
        record = logging.LogRecord("gem_index.server", logging.WARNING, "", 1, "a %s", ("b",), None)
        record.created, record.msecs = 86_399.007, 7.9
        record.fields = {"request": "1"}
        assert JsonFormatter().format(record) == (
            '{"time":"1970-01-01T23:59:59.007Z","level":"warning","logger":"gem_index.server","message":"a b","request":"1"}'
        )

    def test_a_line_a_request_without_texts_or_keys(self, home, logged):
        key = home.keys.add("shop", "admin")
        with TestClient(create_app(home), headers={"Authorization": f"Bearer {key}"}) as client:
            client.post("/collections", json={"name": "faq"})
            client.get("/collections/faq/documents/secret-id")
            client.get("/secret-path?secret-query=1")
        fields = [json.loads(line) for line in logged]
        assert [(each["method"], each["route"], each["status"]) for each in fields] == [
            ("POST", "/collections", 201),
            ("GET", "/collections/{name}/documents/{document:path}", 404),
            ("any", "other", 404),
        ]
        assert all(each["ms"] > 0 and len(each["request"]) == 32 for each in fields)
        assert not any("secret" in line or key in line for line in logged)

    def test_metrics_count_by_route(self, client):
        client.post("/embed", json={"inputs": "a"})
        client.get("/random/path")
        client.request("BREW", "/coffee")
        found = client.get("/metrics").text
        assert 'gem_index_requests_total{method="POST",route="/embed",status="200"} 1.0' in found
        assert 'gem_index_requests_total{method="any",route="other",status="404"} 2.0' in found
        assert 'gem_index_request_seconds_count{route="/embed"} 1.0' in found
        assert "random" not in found
        client.post("/embed", json={})
        client.app.state.context._waiting += 3
        found = client.get("/metrics").text
        client.app.state.context._waiting -= 3
        assert 'gem_index_requests_total{method="POST",route="/embed",status="422"} 1.0' in found
        assert 'gem_index_request_seconds_count{route="/embed"} 2.0' in found
        [seconds] = [line for line in found.splitlines() if 'seconds_sum{route="/embed"}' in line]
        assert 0 < float(seconds.split()[-1]) < 60
        assert "gem_index_requests_waiting 3.0" in found
        assert "gem_index_texts_waiting 0.0" in found


class TestLimits:
    def test_of_the_environment(self):
        found = Limits.of_environment(
            {"GEM_INDEX_SERVER_BODY": "1000", "GEM_INDEX_SERVER_SECONDS": "2.5"}
        )
        assert found == Limits(body=1000, seconds=2.5)

    @pytest.mark.parametrize("text", ["0", "-1", "many", "nan", "inf", "1.5", ""])
    def test_a_bad_one_is_named(self, text):
        with pytest.raises(
            Exception, match="GEM_INDEX_SERVER_TEXTS is .*; expected a whole number above 0"
        ):
            Limits.of_environment({"GEM_INDEX_SERVER_TEXTS": text})

    def test_requests_that_wait_are_bounded(self, home: Home):
        async def many():
            context = ServerContext(home, Limits(requests=3), 1, {}, {})

            hold = threading.Event()
            running = [asyncio.ensure_future(context.read(hold.wait)) for _ in range(3)]
            await asyncio.sleep(0.05)
            with pytest.raises(OverloadedError, match="3 requests wait"):
                await context.read(lambda: 1)
            running[0].cancel()  # its thread is not free before the work is done
            await asyncio.sleep(0.05)
            with pytest.raises(OverloadedError):
                await context.read(lambda: 1)
            hold.set()
            await asyncio.gather(*running, return_exceptions=True)
            assert await context.read(lambda: 1) == 1
            await context.close()

        asyncio.run(many())

    def test_a_write_waits_for_others_only_so_long(self, home: Home, monkeypatch):
        monkeypatch.setenv("GEM_INDEX_LOCK_TIMEOUT", "0.1")

        async def two():
            context = ServerContext(home, Limits(), 1, {}, {})
            hold = threading.Event()
            first = asyncio.ensure_future(context.write(lambda: hold.wait(90)))
            await asyncio.sleep(0.05)
            with pytest.raises(WriterBusyError, match="other requests are writing"):
                await context.write(lambda: 1)
            hold.set()
            assert await first
            assert await context.write(lambda: 1) == 1
            await context.close()

        asyncio.run(two())

    def test_a_begun_write_is_finished_without_its_client_and_a_waiting_one_is_not(self, home):
        written = []

        async def three():
            context = ServerContext(home, Limits(), 1, {}, {})
            hold = threading.Event()

            def write(name):
                hold.wait(90)
                written.append(name)

            begun = asyncio.ensure_future(context.write(lambda: write("begun")))
            waiting = asyncio.ensure_future(context.write(lambda: write("waiting")))
            await asyncio.sleep(0.05)
            begun.cancel()
            waiting.cancel()
            hold.set()
            await context.write(lambda: write("last"))
            await context.close()

        asyncio.run(three())
        assert written == ["begun", "last"]

    def test_a_waiting_read_of_a_client_that_left_is_left_out(self, home):
        done = []

        async def left():
            context = ServerContext(home, Limits(), 1, {}, {})
            hold = threading.Event()
            first = [
                asyncio.ensure_future(context.read(lambda: hold.wait(90)))
                for _ in range(LARGEST_BATCH)
            ]
            second = asyncio.ensure_future(context.read(lambda: done.append("second")))
            await asyncio.sleep(0.05)
            second.cancel()
            await asyncio.sleep(0.05)
            hold.set()
            await asyncio.gather(*first)
            await context.read(lambda: done.append("third"))
            await context.close()

        asyncio.run(left())
        assert done == ["third"]

    def test_searches_that_wait_are_answered_together(self, home, monkeypatch):
        monkeypatch.setenv("GEM_INDEX_THREADS", "1")
        home.create_collection("faq").upsert([("1", "a river bank")])
        sizes, opened, hold, answer_all = [], set(), threading.Event(), answering.answer_all

        def noted(access, requests, *rest, **options):
            sizes.append(len(requests))
            opened.add(access.batcher)
            hold.wait(90)
            return answer_all(access, requests, *rest, **options)

        monkeypatch.setattr(answering, "answer_all", noted)

        async def ask():
            context = ServerContext(home, Limits(), 1, {}, {})
            asked = [
                asyncio.ensure_future(
                    context.ask("faq", lambda c: c.search("bank"), pool="batched")
                )
                for _ in range(LARGEST_BATCH)
            ]
            while sum(len(batcher._queue) for batcher in opened) < LARGEST_BATCH - 1:
                await asyncio.sleep(0.01)
            hold.set()
            found = await asyncio.gather(*asked)
            await context.close()
            return found

        assert [[hit.id for hit in hits] for hits in asyncio.run(ask())] == [["1"]] * LARGEST_BATCH
        assert sizes == [1, LARGEST_BATCH - 1]

    def test_a_plain_read_does_not_wait_for_long_ones(self, home):
        async def both():
            context = ServerContext(home, Limits(), 1, {}, {})
            hold = threading.Event()
            long = asyncio.ensure_future(context.read(lambda: hold.wait(90), pool="long"))
            await asyncio.sleep(0.05)
            assert await asyncio.wait_for(context.read(lambda: 1), 60) == 1
            assert not long.done()
            hold.set()
            await long
            await context.close()

        asyncio.run(both())

    def test_work_with_progress_ends_with_the_server(self, home):
        home.create_collection("faq").upsert([("1", "a river bank")])

        async def end():
            context = ServerContext(home, Limits(), 1, {}, {})
            begun = threading.Event()

            def work():
                begun.set()
                for _ in range(2000):
                    context.check_not_ending()
                    time.sleep(0.01)

            writing = asyncio.ensure_future(context.write(work))
            await asyncio.to_thread(begun.wait, 20)
            assert await context.close()
            with pytest.raises(ShuttingDownError):
                await writing

        asyncio.run(end())

    def test_a_search_does_not_wait_for_what_reads_all(self, home: Home):
        home.create_collection("faq").upsert([("1", "a river bank")])

        async def both():
            context = ServerContext(home, Limits(), 1, {}, {})
            hold = threading.Event()
            long = asyncio.ensure_future(context.examine("faq", lambda _: hold.wait(90)))
            await asyncio.sleep(0.05)
            found = await asyncio.wait_for(context.ask("faq", lambda c: c.search("bank")), 60)
            assert not long.done()
            hold.set()
            assert await long
            await context.close()
            return found

        assert [hit.id for hit in asyncio.run(both())] == ["1"]
