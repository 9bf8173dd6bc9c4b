"""Defaults, bounds and limits: all of them in exact tables, because a client counts on each."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest
from fastapi.testclient import TestClient

from gem_index.errors import ConfigError
from gem_index.home.key_library import digest_of
from gem_index.server.app import create_app
from gem_index.server.errors import MemoryFullError, UnauthorizedError
from gem_index.server.memory import Memory, Share
from gem_index.server.origins import Origins
from gem_index.server.running import ServeOptions
from gem_index.server.security import KeyRing
from gem_index.server.settings import Limits

KEYS = ("default", "minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength")


def bounds_of(schema: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in (schema, *schema.get("anyOf", ())):
        found |= {
            key: value for key, value in part.items() if key in KEYS and value not in (None, [], {})
        }
    return found


EXPECTED = {
    "CohereEmbedRequest.model": {"default": "gem-index"},
    "CohereEmbedRequest.output_dimension": {"minimum": 1.0},
    "CountBody.by": {"maxItems": 20},
    "CountBody.limit": {"maximum": 1000.0, "minimum": 1.0, "default": 20},
    "DuplicatesBody.threshold": {"default": 0.95},
    "DuplicatesBody.views": {"default": ["wording", "meaning"]},
    "DuplicatesBody.overlap": {"default": 0.7},
    "DuplicatesBody.contrasts": {"default": False},
    "DuplicatesBody.link": {"default": "single"},
    "EmbedRequest.dimensions": {"minimum": 1.0},
    "EmbedRequest.model": {"default": "gem-index"},
    "EmbedRequest.normalize": {"default": True},
    "Embedding.object": {"default": "embedding"},
    "Embeddings.object": {"default": "list"},
    "GroupSearchBody.k": {"maximum": 10000.0, "minimum": 1.0, "default": 10},
    "GroupSearchBody.fusion": {"default": "weighted"},
    "GroupSearchBody.rerank": {"default": False},
    "GroupSearchBody.why": {"default": False},
    "GroupSearchBody.pairs": {"minimum": 0.0},
    "GroupSearchBody.collapse": {"default": False},
    "GroupSearchBody.pieces": {"default": False},
    "GroupSearchBody.exact": {"default": False},
    "GroupSearchBody.correct": {"default": True},
    "GroupSearchBody.offset": {"maximum": 10000.0, "minimum": 0.0, "default": 0},
    "GroupSearchBody.collections": {"maxItems": 32, "minItems": 1},
    "Model.object": {"default": "model"},
    "Model.created": {"default": 0},
    "Model.owned_by": {"default": "gem-index"},
    "Models.object": {"default": "list"},
    "NewKey.allow": {"default": "read"},
    "OllamaEmbedRequest.model": {"default": "gem-index"},
    "OllamaEmbedRequest.dimensions": {"minimum": 1.0},
    "OllamaPromptRequest.model": {"default": "gem-index"},
    "PushBody.full": {"default": False},
    "PushBody.dry_run": {"default": False},
    "PushBody.texts": {"default": True},
    "PushBody.drop_unsupported": {"default": False},
    "RerankBody.top_n": {"minimum": 1.0},
    "RerankRequest.model": {"default": "gem-index"},
    "RerankRequest.top_n": {"minimum": 1.0},
    "RerankRequest.return_documents": {"default": False},
    "RetrievalSetting.top_k": {"maximum": 100.0, "minimum": 1.0, "default": 5},
    "RetrievalSetting.score_threshold": {"default": 0.0},
    "SearchBody.k": {"maximum": 10000.0, "minimum": 1.0, "default": 10},
    "SearchBody.fusion": {"default": "weighted"},
    "SearchBody.rerank": {"default": False},
    "SearchBody.why": {"default": False},
    "SearchBody.pairs": {"minimum": 0.0},
    "SearchBody.collapse": {"default": False},
    "SearchBody.pieces": {"default": False},
    "SearchBody.exact": {"default": False},
    "SearchBody.correct": {"default": True},
    "SearchBody.offset": {"maximum": 10000.0, "minimum": 0.0, "default": 0},
    "SimilarBody.k": {"maximum": 10000.0, "minimum": 1.0, "default": 10},
    "SimilarityRequest.model": {"default": "gem-index"},
    "SparseRequest.model": {"default": "gem-index"},
    "StoreSearchRequest.max_num_results": {"maximum": 50.0, "minimum": 1.0, "default": 10},
    "TextRerankRequest.return_text": {"default": False},
    "TextRerankRequest.model": {"default": "gem-index"},
    "VectorsRequest.model": {"default": "gem-index"},
    "GET /collections/{name}/documents offset": {
        "maximum": 9007199254740992,
        "minimum": 0,
        "default": 0,
    },
    "GET /collections/{name}/documents limit": {"maximum": 1000, "minimum": 1, "default": 20},
    "GET /collections/{name}/documents newest_first": {"default": False},
}


def test_each_field_has_its_default_and_bounds(client):
    document = client.app.openapi()
    found = {
        f"{name}.{field}": bounds_of(each)
        for name, schema in document["components"]["schemas"].items()
        for field, each in schema.get("properties", {}).items()
    }
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            for parameter in operation.get("parameters", ()):
                place = f"{method.upper()} {path} {parameter['name']}"
                found[place] = bounds_of(parameter["schema"])
    assert {name: bounds for name, bounds in found.items() if bounds} == EXPECTED


def test_the_limits_of_a_server():
    assert asdict(Limits()) == {
        "body": 16 * 1024**2,
        "texts": 2048,
        "characters": 1_000_000,
        "query": 10_000,
        "waiting": 50_000,
        "work": 32 * 1024**2,
        "requests": 1024,
        "memory": 256 * 1024**2,
        "file": 1024**3,
        "seconds": 30.0,
        "shutdown": 6.0,
    }
    environment = {f"GEM_INDEX_SERVER_{name.upper()}": "7" for name in asdict(Limits())}
    assert asdict(Limits.of_environment(environment)) == dict.fromkeys(asdict(Limits()), 7)


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("BODY", "1.5", "whole number"),
        ("TEXTS", "many", "whole number"),
        ("SECONDS", "inf", "number"),
        ("SHUTDOWN", "0", "number"),
    ],
)
def test_a_wrong_limit_is_told_whole(name, value, kind):
    with pytest.raises(ConfigError) as refused:
        Limits.of_environment({f"GEM_INDEX_SERVER_{name}": value})
    assert str(refused.value) == (
        f"GEM_INDEX_SERVER_{name} is '{value}'; expected a {kind} above 0: change or unset it"
    )
    assert Limits.of_environment({"GEM_INDEX_SERVER_SHUTDOWN": "0.5"}).shutdown == 0.5


def test_the_options_of_a_server():
    assert asdict(ServeOptions(home="x")) == {
        "home": "x",
        "host": "127.0.0.1",
        "port": 8080,
        "workers": 1,
        "keys": {},
        "insecure": False,
        "names": (),
        "origins": (),
        "aliases": {},
        "targets": {},
        "tables": {},
        "backups": None,
    }


@pytest.mark.parametrize(
    ("options", "local", "required"),
    [
        ({}, True, False),
        ({"host": "LocalHost"}, True, False),
        ({"host": "[::1]"}, True, False),
        ({"host": "127.9.9.9"}, True, False),
        ({"names": ("a.example",)}, True, True),
        ({"names": ("a.example",), "insecure": True}, True, False),
        ({"host": "0.0.0.0"}, False, True),
        ({"host": "::"}, False, True),
        ({"host": "a.example"}, False, True),
        ({"host": "0.0.0.0", "insecure": True}, False, False),
    ],
)
def test_who_needs_a_key(options, local, required):
    found = ServeOptions(home="x", **options)
    assert (found.local, found.key_required) == (local, required)


def test_the_headers_of_each_answer(client):
    headers = dict(client.get("/health").headers)
    assert len(headers.pop("x-request-id")) == 32
    assert headers == {
        "content-length": "15",
        "content-type": "application/json",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "no-referrer",
        "cache-control": "no-store",
        "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    }


class TestKeys:
    """What a key ring answers: with a given key, with stored ones, and with changes of them."""

    def told(self, ring, key=None):
        with pytest.raises(UnauthorizedError) as refused:
            ring.permission_of(key)
        return str(refused.value)

    def test_a_required_key_is_asked_for_though_there_is_none(self, home):
        ring = KeyRing(home, {}, required=True)
        missing = "found no key; expected the header Authorization: Bearer KEY"
        assert self.told(ring) == missing
        assert self.told(ring, "x") == "found an unknown key; expected one of this server's"
        assert self.told(KeyRing(home, {digest_of("x"): "read"})) == missing

    def test_given_and_stored_keys_count_together(self, home):
        stored = home.keys.add("shop", "write")
        ring = KeyRing(home, {digest_of("given"): "admin", digest_of(stored): "read"})
        assert ring.permission_of("given") == "admin"
        assert ring.permission_of(stored) == "write"

    def test_stored_keys_are_read_again_after_a_second_or_when_asked(self, home, monkeypatch):
        now = [100.0]
        monkeypatch.setattr("gem_index.server.security.time.monotonic", lambda: now[0])
        first = home.keys.add("first", "read")
        ring = KeyRing(home, {})
        assert ring.permission_of(first) == "read"
        second = home.keys.add("second", "read")
        now[0] += 0.5
        assert self.told(ring, second).startswith("found an unknown key")
        now[0] += 0.5
        assert ring.permission_of(second) == "read"
        third = home.keys.add("third", "read")
        ring.renew()
        assert ring.permission_of(third) == "read"

    def test_the_first_second_of_a_machine(self, home, monkeypatch):
        """The clock may begin at 0."""
        monkeypatch.setattr("gem_index.server.security.time.monotonic", lambda: 0.0)
        key = home.keys.add("first", "read")
        ring = KeyRing(home, {})
        assert ring.permission_of(key) == "read"
        later = home.keys.add("later", "write")
        ring.renew()
        assert ring.permission_of(later) == "write"

    def test_a_permission_of_a_newer_version_reads_only(self, home, monkeypatch):
        key = home.keys.add("shop", "write")
        [stored] = home.keys.list()
        newer = type(stored)(**{**asdict(stored), "permission": "everything"})
        monkeypatch.setattr(type(home.keys), "list", lambda _: [newer])
        assert KeyRing(home, {}).permission_of(key) == "read"

    @pytest.mark.parametrize(
        ("headers", "status"),
        [
            ({"Authorization": "Bearer KEY"}, 200),
            ({"Authorization": "bEARER  KEY "}, 200),
            ({"X-API-Key": "KEY"}, 200),
            ({"api-key": "KEY"}, 200),
            ({"Authorization": "Bearer ", "api-key": "KEY"}, 200),
            ({"Authorization": "Basic KEY"}, 401),
            ({"X-API-Key": ""}, 401),
        ],
    )
    def test_the_headers_of_a_key(self, home, headers, status):
        with TestClient(create_app(home, keys={digest_of("KEY"): "read"})) as client:
            answer = client.get("/collections", headers=headers)
            assert answer.status_code == status
            if status == 401:
                told = "found no key; expected the header Authorization: Bearer KEY"
                assert answer.json()["error"]["message"] == told

    def test_a_refused_key_is_told_what_it_allows(self, home):
        with TestClient(create_app(home, keys={digest_of("KEY"): "read"})) as client:
            for method, path, told in (
                ("PUT", "/collections/x/documents", "write"),
                ("DELETE", "/collections/x", "admin"),
                (
                    "GET",
                    "/keys",
                    "keys: the operator of the server makes such a key on its machine",
                ),
            ):
                answer = client.request(method, path, headers={"api-key": "KEY"}, json={})
                assert answer.status_code == 403
                assert answer.json()["error"]["message"] == (
                    f"the key allows to read; expected one that allows {told}"
                )
        with TestClient(create_app(home)) as client:
            assert client.get("/keys").json()["error"]["message"] == (
                "found no key; expected one that allows keys: the operator of the server makes such a key on its machine"
            )


class TestMemory:
    def test_as_much_as_the_limit_can_be_held_and_all_of_it_is_released(self):
        memory = Memory(10)
        with Share(memory) as one, Share(memory) as other:
            one.hold(4)
            other.hold(6)
            with pytest.raises(MemoryFullError):
                one.hold(1)
            one.release(99)  # not what others hold
            assert (memory.held, one.held, other.held) == (6, 0, 6)
        assert memory.held == 0


class TestOrigins:
    @pytest.mark.parametrize(
        ("given", "origin", "allowed"),
        [
            ("App://Obsidian.md/", "app://obsidian.md", True),
            ("http://localhost:3000", "http://localhost:3000", True),
            ("http://a.b", "http://axb", False),
            ("vscode-webview://*", "vscode-webview://1a2b", True),
            ("vscode-webview://*", "vscode-webview://1a/2b", False),
            ("vscode-webview://*", "other://1a2b", False),
        ],
    )
    def test_an_origin_is_answered_before_and_after(self, home, given, origin, allowed):
        with TestClient(create_app(home, origins=[given])) as client:
            for sent in (origin, origin.upper()):
                asked = {"Origin": sent, "Access-Control-Request-Method": "DELETE"}
                asked["Access-Control-Request-Private-Network"] = "true"
                before = client.options("/collections/x", headers=asked)
                assert before.headers.get("access-control-allow-origin") == (
                    sent if allowed else None
                )
                head = {"Origin": sent, "Sec-Fetch-Site": "cross-site"}
                answer = client.get("/health", headers=head)
                if "/" not in origin.partition("://")[2]:
                    assert answer.status_code == (200 if allowed else 403)
                if allowed:
                    assert before.headers["access-control-allow-private-network"] == "true"
                    methods = before.headers["access-control-allow-methods"]
                    assert methods == "GET, HEAD, POST, PUT, DELETE"
                    shown = answer.headers["access-control-expose-headers"]
                    assert shown == "Retry-After, X-Request-ID"

    @pytest.mark.parametrize("given", ["http://*", "https://*", "a.example", "app://a/b"])
    def test_a_wrong_one_is_told(self, given):
        with pytest.raises(ConfigError) as refused:
            Origins.of([given])
        assert str(refused.value) == (
            f"the origin is '{given}'; expected SCHEME://HOST or SCHEME://HOST:PORT, such as app://obsidian.md or "
            "vscode-webview://* for every host of a scheme other than http and https"
        )

    @pytest.mark.parametrize(
        "kind",
        ["text/plain", "TEXT/Plain; charset=utf-8", "application/x-www-form-urlencoded", None],
    )
    @pytest.mark.parametrize(
        ("path", "expected"),
        [
            ("/collections/faq/documents/stream", "application/x-ndjson"),
            (
                "/collections/faq/files?file=a.txt",
                "application/octet-stream, or the type of the file",
            ),
            ("/inspect?file=a.csv", "application/octet-stream, or the type of the file"),
        ],
    )
    def test_a_type_that_any_page_may_send_is_told(self, home, kind, path, expected):
        home.create_collection("faq")
        with TestClient(create_app(home)) as client:
            headers = {} if kind is None else {"Content-Type": kind}
            answer = client.post(path, content=b"a", headers=headers)
        shown = "missing" if kind is None else f"'{kind}'"
        assert answer.status_code == 415
        assert answer.json()["error"]["message"] == (
            f"the header Content-Type is {shown}; expected {expected}"
        )
