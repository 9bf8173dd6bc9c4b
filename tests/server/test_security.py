"""Keys, the Host check, headers."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from gem_index.errors import ConfigError, NameTakenError, UnknownNameError
from gem_index.home.key_library import digest_of
from gem_index.server.app import create_app
from gem_index.server.security import KeyRing
from gem_index.server.settings import Limits

ORDER = ("read", "write", "admin", "keys")


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


@pytest.fixture
def keys(home):
    return {allowed: home.keys.add(allowed, allowed) for allowed in ORDER}


class TestAccess:
    def test_it_is_what_the_key_allows(self, home, keys):
        with TestClient(
            create_app(home, targets={"shop": "parquet:///x", "a": "parquet:///y"})
        ) as client:
            for allowed, key in keys.items():
                answer = client.get("/access", headers=bearer(key)).json()
                targets = ["a", "shop"] if allowed in ("admin", "keys") else []  # names, never URLs
                assert answer == {"permission": allowed, "targets": targets, "backups": False}
            assert client.get("/access").status_code == 401

    def test_without_keys_everything_is_allowed(self, client):
        assert client.get("/access").json() == {
            "permission": "admin",
            "targets": [],
            "backups": False,
        }


class TestKeys:
    def test_only_a_hash_is_stored(self, home):
        key = home.keys.add("shop", "write")
        [stored] = home.keys.list()
        assert (stored.name, stored.permission, stored.digest) == ("shop", "write", digest_of(key))
        everything = b"".join(path.read_bytes() for path in home.root.rglob("*") if path.is_file())
        assert key.encode() not in everything
        assert len(key) > 40

    def test_two_keys_differ(self, home):
        assert home.keys.add("a") != home.keys.add("b")

    @pytest.mark.parametrize("name", ["", "a b", "../x", "x" * 65])
    def test_names_are_checked(self, home, name):
        with pytest.raises(ConfigError, match="key name"):
            home.keys.add(name)

    def test_bad_requests(self, home):
        home.keys.add("shop")
        with pytest.raises(NameTakenError, match="shop"):
            home.keys.add("shop")
        with pytest.raises(ConfigError, match="'root'; expected read, write, admin, keys"):
            home.keys.add("other", "root")
        with pytest.raises(UnknownNameError, match="shop"):
            home.keys.remove("shp")
        home.keys.remove("shop")
        assert home.keys.list() == []


ROUTES = [
    ("GET", "/access", None, "read"),
    ("GET", "/collections", None, "read"),
    ("GET", "/collections/faq", None, "read"),
    ("GET", "/collections/faq/documents", None, "read"),
    ("GET", "/collections/faq/documents/1", None, "read"),
    ("GET", "/collections/faq/drift", None, "read"),
    ("POST", "/collections/faq/search", {"query": "a"}, "read"),
    ("POST", "/search", {"query": "a", "collections": ["faq"]}, "read"),
    ("POST", "/collections/faq/similar", {"id": "1"}, "read"),
    ("POST", "/collections/faq/rerank", {"query": "a", "candidates": ["b"]}, "read"),
    ("POST", "/collections/faq/explain", {"text": "a"}, "read"),
    ("POST", "/collections/faq/duplicates", {}, "read"),
    ("POST", "/v1/embeddings", {"input": "a"}, "read"),
    ("GET", "/v1/models", None, "read"),
    ("GET", "/v1/models/gem-index", None, "read"),
    ("POST", "/v1/rerank", {"query": "a", "documents": ["b"]}, "read"),
    ("POST", "/v2/rerank", {"query": "a", "documents": ["b"]}, "read"),
    ("POST", "/embed", {"inputs": "a"}, "read"),
    ("POST", "/embed_sparse", {"inputs": "a"}, "read"),
    ("POST", "/", {"inputs": "a"}, "read"),
    ("POST", "/rerank", {"query": "a", "texts": ["b"]}, "read"),
    ("POST", "/similarity", {"inputs": {"source_sentence": "a", "sentences": ["b"]}}, "read"),
    ("GET", "/info", None, "read"),
    ("POST", "/v1/embed", {"texts": ["a"]}, "read"),
    ("POST", "/v2/embed", {"texts": ["a"]}, "read"),
    ("POST", "/api/embed", {"input": "a"}, "read"),
    ("POST", "/api/embeddings", {"prompt": "a"}, "read"),
    ("GET", "/api/tags", None, "read"),
    ("GET", "/api/version", None, "read"),
    ("POST", "/vectors", {"text": "a"}, "read"),
    ("GET", "/meta", None, "read"),
    ("POST", "/v1/vector_stores/faq/search", {"query": "a"}, "read"),
    ("POST", "/retrieval", {"knowledge_id": "faq", "query": "a"}, "read"),
    ("GET", "/metrics", None, "read"),
    ("PUT", "/collections/faq/documents", {"documents": []}, "write"),
    ("POST", "/collections/faq/documents/stream", {"id": "9", "text": "b"}, "write"),
    ("POST", "/collections/faq/documents/delete", {"ids": ["9"]}, "write"),
    ("POST", "/collections/faq/files?file=a.jsonl", {"id": "9", "text": "b"}, "write"),
    ("POST", "/inspect?file=a.jsonl", {"id": "9", "text": "b"}, "write"),
    ("GET", "/collections/faq/fields", None, "read"),
    ("POST", "/collections/faq/count", {"by": []}, "read"),
    ("POST", "/collections/faq/map", None, "write"),
    ("GET", "/collections/faq/map", None, "read"),
    ("GET", "/collections/faq/map/colours?field=lang", None, "read"),
    ("POST", "/collections", {"name": "new"}, "admin"),
    ("PUT", "/collections/faq/description", {"description": "a"}, "admin"),
    ("GET", "/collections/faq/synonyms", None, "read"),
    ("PUT", "/collections/faq/synonyms", {"groups": []}, "admin"),
    ("POST", "/collections/faq/refit", None, "admin"),
    ("POST", "/collections/faq/calibrate", {}, "admin"),
    ("POST", "/collections/faq/push", {"target": "x"}, "admin"),
    ("DELETE", "/collections/faq", None, "admin"),
    ("POST", "/backup", None, "admin"),
    ("GET", "/backups", None, "admin"),
    ("GET", "/keys", None, "keys"),
    ("POST", "/keys", {"name": "new"}, "keys"),
    ("DELETE", "/keys/gem-index", None, "keys"),
]
OPEN = [
    *("/health", "/health/live", "/health/ready", "/openapi.json"),
    *("/.well-known/live", "/.well-known/ready"),
]


class TestRights:
    def test_each_route_asks_for_its_right(self, home, keys):
        home.create_collection("faq").upsert([("1", "a b")])
        order = ORDER
        with TestClient(create_app(home)) as client:
            for method, path, body, needed in ROUTES:
                assert client.request(method, path, json=body).status_code == 401, path
                wrong = client.request(method, path, json=body, headers=bearer("gem-x"))
                assert wrong.status_code == 401, path
                assert wrong.headers["www-authenticate"] == "Bearer"
                for allowed in order:
                    answer = client.request(method, path, json=body, headers=bearer(keys[allowed]))
                    if order.index(allowed) < order.index(needed):
                        assert answer.status_code == 403, (path, allowed)
                    else:
                        assert answer.status_code not in (401, 403), (path, allowed)
                        break
            for path in OPEN:
                assert client.get(path).status_code in (200, 204)

    def test_a_body_is_not_read_before_the_key(self, home, keys):
        home.create_collection("faq")
        with TestClient(create_app(home, limits=Limits(body=10))) as client:
            for method, path, body, needed in ROUTES:
                if body is None:
                    continue
                large = (b" " * 11 for _ in range(1))  # its length is not told beforehand
                assert client.request(method, path, content=large).status_code == 401, path
                if needed != "read":
                    head = bearer(keys["read"])
                    assert (
                        client.request(method, path, content=b"{", headers=head).status_code == 403
                    )

    def test_the_table_above_names_every_route(self, home):
        paths = create_app(home).openapi()["paths"]
        documented = {
            (method.upper(), path) for path, methods in paths.items() for method in methods
        }
        named = {("GET", path) for path in OPEN if path != "/openapi.json"}
        for method, path, _, _ in ROUTES:
            for part, placeholder in (
                ("faq", "{name}"),
                ("gem-index", "{name}"),
                ("1", "{document}"),
            ):
                path = "/".join(placeholder if each == part else each for each in path.split("/"))
            named.add((method, path.partition("?")[0]))
        assert named == documented

    def test_keys_may_stand_in_another_header(self, home, keys):
        with TestClient(create_app(home)) as client:
            for headers in (
                {"X-API-Key": keys["read"]},
                {"Authorization": f"bearer  {keys['read']} "},
            ):
                assert client.get("/collections", headers=headers).status_code == 200
            for headers in (
                {"Authorization": keys["read"]},
                {"Authorization": f"Basic {keys['read']}"},
            ):
                assert client.get("/collections", headers=headers).status_code == 401

    def test_keys_are_added_and_removed_while_it_serves(self, home):
        ring = KeyRing(home, {})
        assert ring.permission_of(None) == "admin"
        key = home.keys.add("shop", "write")
        ring._read_at = -10.0  # as after a second
        assert ring.permission_of(key) == "write"
        home.keys.remove("shop")
        ring._read_at = -10.0
        for given in (key, None):  # the last key removed does not open the server
            with pytest.raises(Exception, match="found"):
                ring.permission_of(given)

    def test_given_keys(self, home):
        ring = KeyRing(home, {digest_of("secret"): "read"}, required=True)
        assert ring.permission_of("secret") == "read"
        with pytest.raises(Exception, match="unknown key"):
            ring.permission_of("other")


class TestHost:
    @pytest.mark.parametrize(
        ("host", "status"),
        [
            ("localhost:8080", 200),
            ("LOCALHOST", 200),
            ("127.0.0.1", 200),
            ("[::1]:8080", 200),
            ("evil.example", 403),
            ("evil.example:80", 403),
            ("localhost.evil.example", 403),
            ("127.0.0.1@evil.example", 403),
            ("", 403),
        ],
    )
    def test_only_names_of_the_server(self, home, host, status):
        hosts = frozenset({"localhost", "127.0.0.1", "[::1]"})
        with TestClient(create_app(home, hosts=hosts)) as client:
            answer = client.get("/health", headers={"Host": host})
            assert answer.status_code == status

    @pytest.mark.parametrize(
        ("origin", "status"),
        [
            ("http://localhost:8080", 200),
            ("http://localhost:3000", 403),
            ("http://localhost", 403),
            ("https://localhost:8080", 403),
            ("https://evil.example", 403),
            ("https://localhost.evil.example", 403),
            ("null", 403),
            ("file://", 403),
        ],
    )
    def test_pages_from_elsewhere_change_nothing(self, home, origin, status):
        home.create_collection("faq")
        hosts = frozenset({"localhost", "127.0.0.1", "[::1]"})
        for names in (hosts, None):
            with TestClient(
                create_app(home, hosts=names), base_url="http://localhost:8080"
            ) as client:
                # what a browser sends from any page without asking first
                sent = client.post(
                    "/collections/faq/documents/stream",
                    content='{"id": "1", "text": "a text"}',
                    headers={"Origin": origin, "Content-Type": "application/x-ndjson"},
                )
                assert sent.status_code == status
        assert len(home.collection("faq")) == (1 if status == 200 else 0)

    def test_by_default_any(self, client):
        assert client.get("/health", headers={"Host": "shop.example"}).status_code == 200


class TestOrigins:
    def test_a_browser_says_where_a_request_comes_from(self, client):
        for site, mode, method, status in (
            ("same-origin", "cors", "POST", 200),
            ("none", "navigate", "GET", 200),
            ("cross-site", "navigate", "GET", 200),  # a link to the page
            ("cross-site", "no-cors", "GET", 403),
            ("same-site", "no-cors", "POST", 403),
            ("cross-site", "navigate", "POST", 403),
        ):
            head = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode}
            path = "/embed" if method == "POST" else "/health"
            body = {"inputs": "a"} if method == "POST" else None
            assert client.request(method, path, json=body, headers=head).status_code == status, site

    @pytest.mark.parametrize("name", ["Host", "Origin"])
    def test_two_headers_are_refused(self, client, name):
        value = "localhost" if name == "Host" else "http://localhost"
        answer = client.get("/health", headers=[(name, value), (name, value)])
        assert answer.status_code == 400
        assert answer.json()["error"]["message"] == f"found several headers {name}; expected one"

    @pytest.mark.parametrize(
        "kind", ["text/plain", "text/plain; charset=utf-8", "multipart/form-data; boundary=x"]
    )
    def test_types_that_any_page_may_send_are_refused(self, home, client, kind):
        home.create_collection("faq")
        for path in ("documents/stream", "files?file=a.txt"):
            sent = client.post(
                f"/collections/faq/{path}", content="a", headers={"Content-Type": kind}
            )
            assert sent.status_code == 415
            told = f"the header Content-Type is '{kind}'; expected application/"
            assert sent.json()["error"]["message"].startswith(told)
        assert not len(home.collection("faq"))

    @pytest.mark.parametrize(
        ("origin", "allowed"),
        [
            ("app://obsidian.md", True),
            ("vscode-webview://1a2b", True),
            ("http://localhost:3000", True),
            ("http://localhost:3001", False),
            ("chrome-extension://abc", False),
        ],
    )
    def test_allowed_pages_get_answers(self, home, origin, allowed):
        origins = ("app://obsidian.md", "vscode-webview://*", "http://localhost:3000")
        with TestClient(
            create_app(home, origins=origins), base_url="http://localhost:8080"
        ) as client:
            asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
            asked |= {"Access-Control-Request-Headers": "authorization,content-type,x-stainless-os"}
            before = client.options("/v1/embeddings", headers=asked)
            assert (before.status_code == 200) == allowed
            shown = before.headers.get("access-control-allow-origin")
            assert shown == (origin if allowed else None)
            head = {"Origin": origin, "Sec-Fetch-Site": "cross-site"}
            answer = client.post("/v1/embeddings", json={"input": "a"}, headers=head)
            assert answer.status_code == (200 if allowed else 403)
            assert answer.headers.get("access-control-allow-origin") == (
                origin if allowed else None
            )
            # an error can be read too
            wrong = client.post("/v1/embeddings", json={}, headers=head)
            assert ("access-control-allow-origin" in wrong.headers) == allowed

    @pytest.mark.parametrize(
        "origin", ["http://*", "https://*", "localhost:3000", "http://a/b", "*", "null"]
    )
    def test_a_wrong_origin_is_named(self, home, origin):
        with pytest.raises(ConfigError, match="the origin is .*; expected SCHEME://HOST"):
            create_app(home, origins=[origin])


class TestHeaders:
    def test_each_answer_has_them(self, client):
        for path in ("/health", "/nope"):
            headers = client.get(path).headers
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["x-frame-options"] == "DENY"
            assert headers["referrer-policy"] == "no-referrer"
            assert headers["cache-control"] == "no-store"
            assert "default-src 'none'" in headers["content-security-policy"]
            assert "access-control-allow-origin" not in headers

    def test_no_redirect_to_what_the_header_host_names(self, home, client):
        home.create_collection("faq")
        for path in ("/v1/embedding/", "/collection/", "/collections/faq/find/"):
            head = {"Host": "elsewhere.example"}
            answer = client.post(path, json={}, headers=head, follow_redirects=False)
            assert answer.status_code == 404, path
            assert "location" not in answer.headers

    def test_no_cross_origin_request_is_allowed(self, client):
        asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
        answer = client.options("/v1/embeddings", headers=asked)
        assert answer.status_code == 403
        assert not [name for name in answer.headers if name.startswith("access-control")]

    def test_a_request_keeps_a_good_id(self, client):
        assert (
            client.get("/health", headers={"X-Request-ID": "abc-1"}).headers["x-request-id"]
            == "abc-1"
        )
        for bad in ("x" * 65, "a b", 'a"b', "é".encode()):
            found = client.get("/health", headers={"X-Request-ID": bad}).headers["x-request-id"]
            assert len(found) == 32
