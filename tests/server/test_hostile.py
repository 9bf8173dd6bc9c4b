"""Requests that nobody means well with: each is answered in JSON, none with a fault of the server, which lives on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote, unquote

import httpx
import pytest

from gem_index import Home
from server_process import ServerProcess

DEEP = b"[" * 100_000 + b"]" * 100_000
NESTED = b'{"a":' * 5_000 + b"1" + b"}" * 5_000
WITHIN = b'{"a":' * 900 + b"1" + b"}" * 900
TEXTS = ["\0", "\ud800", "\udfff x", "a" * 200_000]
VALUES = [
    *(
        b"NaN",
        b"Infinity",
        b"-Infinity",
        b"1e400",
        b"9" * 400,
        b"9" * 5_000,
        b"9223372036854775808",
    ),
    *(
        b"-1",
        b"0.5",
        b"5e-324",
        b"true",
        b"null",
        b'"5"',
        b'[1,{"b":NaN}]',
        b'"\\ud800"',
        b'"\\u0000"',
    ),
    *(DEEP, NESTED, WITHIN, json.dumps("x" * 100_000).encode()),
]
BODIES = [
    *(
        b"",
        b"{",
        b"null",
        b"[]",
        b"1",
        b'"a"',
        b"NaN",
        b"\xff\xfe",
        b"\xef\xbb\xbf{}",
        b'{"\\ud800":1}',
    ),
    *(DEEP, NESTED, WITHIN, b'{"a":1e999}', b'{"input":' + b"9" * 6_000 + b"}"),
]
FACTORIES = [
    *(
        "",
        "IVF0,Flat",
        "IVF-1,Flat",
        "IVF99999999999,Flat",
        "IVF2147483647,Flat",
        "HNSW0",
        "HNSW-1",
    ),
    *(
        "HNSW999999999",
        "HNSW2000000000,Flat",
        "PQ0",
        "PQ7",
        "PQ8x0",
        "PQ8x99",
        "PQ16x24",
        "PCA0,Flat",
    ),
    *(
        "PCA99999,Flat",
        "OPQ0,PQ8",
        "OPQ7,PQ7",
        "SQ99",
        "LSH99999999",
        "IMI2x30,Flat",
        "IDMap2,Flat",
    ),
    *("ZnLattice3x10_6", "NSG0", "NSG999999", "NNDescent", "RR", "PQ32x4fsr", "RQ8x8", "PRQ2x4x4"),
    *("Pad1000000000000,Flat", "IVF4_HNSW99999999,Flat", "IVF65536(IVF65536(IVF4,Flat),Flat),Flat"),
    *(
        "(" * 1_000,
        "Refine(" * 5_000,
        "IVF4," * 10_000 + "Flat",
        "a" * 100_000,
        "BIVF",
        "BFlat",
        "RaBitQ99",
    ),
    *("CAGRA", "SVS", "AQ", "Flat,Flat,Flat", "HR1000,Flat", "\0", "\ud800"),
]
NAMES = [
    *(
        "%2F",
        "%2E%2E",
        "%2E%2E%2F",
        "..%2f..%2fetc%2fpasswd",
        "%00",
        "%ff",
        "%ed%a0%80",
        "a" * 5_000,
        "%0a",
    ),
    *("~", ".", "%20", "faq%00", "faq%2F..%2Ffaq", "-", "%E2%80%AE", "a%5Cb", "nope"),
]
Request = tuple[str, str, bytes | None]


def post(path: str, **fields: Any) -> Request:
    return "POST", path, json.dumps(fields).encode()


def put(*documents: dict[str, Any]) -> Request:
    return "PUT", "/collections/faq/documents", json.dumps({"documents": documents}).encode()


def texts() -> Iterator[Request]:
    faq = "/collections/faq"
    for text in TEXTS:
        yield post("/v1/embeddings", input=[text])
        yield post("/v1/embeddings", input="a", model=text)
        yield post("/embed", inputs=text)
        yield post("/embed_sparse", inputs=text, prompt_name="query")
        yield post("/embed_sparse", inputs="a", model=text)
        yield post("/", inputs=text)
        yield post("/rerank", query=text, texts=["a", text], return_text=True)
        yield post("/similarity", inputs={"source_sentence": text, "sentences": [text]})
        documents = [text, {"text": text}, {"x": text}]
        yield post("/v2/rerank", query=text, documents=documents, return_documents=True)
        yield post("/v2/rerank", query="a", documents=documents[:2], return_documents=True)
        for field in ("name", "index", "vectors", "preset"):
            yield post("/collections", **{"name": "made", field: text})
        yield post(f"{faq}/search", query=text)
        yield post(f"{faq}/search", query="a", mode=text)
        yield post(f"{faq}/search", query="a", fusion=text)
        yield post(f"{faq}/search", query="a bank", where={text: text})
        yield post(f"{faq}/search", query="a bank", where={"lang": text})
        yield put({"id": text, "text": "a"})
        yield put({"id": "h", "text": text, "metadata": {text: text}})
        yield put({"id": "h", "text": "a bank", "metadata": {"k": text}})
        yield post(f"{faq}/documents/stream", id=text, text=text, metadata={text: text})
        yield post(f"{faq}/documents/delete", ids=[text])
        yield post(f"{faq}/documents/delete", where={text: text})
        yield post(f"{faq}/similar", id=text)
        yield post(f"{faq}/count", by=[text], where={text: text})
        yield post(f"{faq}/explain", **{"text": text, "with": text})
        yield post(f"{faq}/rerank", query=text, candidates=[text])
        yield post(f"{faq}/push", target=text)
        yield post(f"{faq}/duplicates", where={text: text})
        yield "GET", f"{faq}/documents", None
        yield "GET", f"{faq}/documents/h", None


def bodies() -> Iterator[Request]:
    routes = (
        "/v1/embeddings",
        "/v1/rerank",
        "/embed",
        "/",
        "/rerank",
        "/similarity",
        "/collections",
    )
    actions = (
        "documents/stream",
        "documents/delete",
        "search",
        "similar",
        "explain",
        "duplicates",
        "count",
        "push",
    )
    for body in BODIES:
        for path in (*routes, *(f"/collections/faq/{action}" for action in actions)):
            yield "POST", path, body
        yield "PUT", "/collections/faq/documents", body


def values() -> Iterator[Request]:
    templates = [
        *(("/v1/embeddings", b'{"input":%s}'), ("/v1/embeddings", b'{"input":["a",%s]}')),
        *(("/v1/embeddings", b'{"input":"a","dimensions":%s}'), ("/embed", b'{"inputs":[%s]}')),
        ("/v2/rerank", b'{"query":"a","documents":["a"],"top_n":%s}'),
        ("/v2/rerank", b'{"query":"a","documents":[%s]}'),
        ("/v2/rerank", b'{"query":"a","documents":[{"a":%s}],"rank_fields":["a"]}'),
        *((f"/collections/faq/{path}", body) for path, body in _ACTIONS),
        *(("/collections/faq/search", b'{"query":"a bank","%s":%%s}' % name) for name in _FIELDS),
        *(
            ("/collections/faq/search", b'{"query":"a","where":{"lang":{"%s":%%s}}}' % o)
            for o in _OPERATORS
        ),
        *(("/collections/faq/search", b'{"query":"a","where":{"%s":%%s}}' % o) for o in _OPERATORS),
    ]
    for value in VALUES:
        for path, template in templates:
            yield "POST", path, template % value
        for document in (b'{"id":"n","text":"a","metadata":{"x":%s}}', b'{"id":%s,"text":"a"}'):
            yield "PUT", "/collections/faq/documents", b'{"documents":[%s]}' % (document % value)
        # what was accepted is shown
        yield "GET", "/collections/faq/documents", None
        yield post("/collections/faq/search", query="a", k=100)


_ACTIONS = [
    ("documents/stream", b'{"id":"n2","text":"a","metadata":{"x":%s}}'),
    ("documents/stream", b'{"id":%s,"text":"a"}'),
    ("documents/stream", b'{"id":"n2","text":"a","metadata":%s}'),
    ("documents/delete", b'{"ids":[%s]}'),
    ("documents/delete", b'{"where":{"lang":%s}}'),
    ("duplicates", b'{"threshold":%s}'),
    ("duplicates", b'{"where":{"lang":%s}}'),
    ("similar", b'{"id":"1","k":%s}'),
    ("similar", b'{"id":"1","where":%s}'),
    ("rerank", b'{"query":"a","candidates":["a"],"top_n":%s}'),
]
_FIELDS = [
    b"k",
    b"min_score",
    b"collapse",
    b"mode",
    b"where",
    b"rerank",
    b"queries",
    b"pieces",
    b"exact",
]
_OPERATORS = [b"$gt", b"$in", b"$eq", b"$ne", b"$and", b"$or", b"$not", b"$exists", b"gt"]


def paths() -> Iterator[Request]:
    patterns = [
        *(
            "/collections/%s",
            "/collections/%s/documents",
            "/collections/%s/documents/1",
            "/collections/%s/drift",
        ),
        *("/collections/faq/documents/%s", "/v1/models/%s", "/v1/models/collection:%s", "/%s"),
        "/collections/faq/%s",
    ]
    for name in NAMES:
        for pattern in patterns:
            yield "GET", pattern % name, None
        yield "DELETE", f"/collections/{name}", None
        yield post(f"/collections/{name}/search", query="a")
        yield post(f"/collections/{name}/documents/stream", id="1", text="a")
        yield "POST", f"/collections/{name}/refit", None
        plain = unquote(name, errors="surrogatepass" if "ed" in name else "replace")
        yield post("/collections", name=plain)
        yield post("/v1/embeddings", input="a", model=f"collection:{plain}")
    for where in (
        "NaN",
        "{",
        "[]",
        "{}",
        NESTED.decode(),
        '{"a":NaN}',
        '{"a":"\\ud800"}',
        '{"$or":[]}',
        "9" * 5_000,
    ):
        yield "GET", f"/collections/faq/documents?where={quote(where)[:60_000]}", None
    for query in (
        *(
            "offset=9223372036854775807",
            "offset=9007199254740992",
            "offset=-1",
            "offset=%00",
            "limit=0",
        ),
        *("limit=9e9", "limit=NaN", f"offset={'9' * 5_000}", "where=%ff", "where=%ed%a0%80"),
    ):
        yield "GET", f"/collections/faq/documents?{query}", None


def factories() -> Iterator[Request]:
    for place, factory in enumerate(FACTORIES):
        name = f"made-{place}"
        yield post("/collections", name=name, index=factory)
        rows = [{"id": str(row), "text": f"text {row} about a bank"} for row in range(40)]
        yield "PUT", f"/collections/{name}/documents", json.dumps({"documents": rows}).encode()
        yield "POST", f"/collections/{name}/refit", None
        yield post(f"/collections/{name}/search", query="a bank", mode="dense")
        yield "DELETE", f"/collections/{name}", None


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    home = Home(tmp_path_factory.mktemp("hostile") / "home")
    faq = home.create_collection("faq")
    faq.upsert(
        [("1", "renew a passport", {"lang": "en"}), ("a/b", "two ducks"), ("..", "a river bank")]
    )
    with ServerProcess(home.root) as started:
        yield started


@pytest.mark.parametrize("requests", [texts, bodies, values, paths, factories])
def test_no_request_is_a_fault_of_the_server(victim, requests):
    with httpx.Client(base_url=victim.url, timeout=60) as client:
        answered = list(answers(client, requests()))
        refused = [answer for answer in answered if answer.status_code >= 400]
        assert len(refused) > len(answered) / 4
        assert client.get("/collections/faq/documents/1").json()["text"] == "renew a passport"
        body = client.post("/v1/embeddings", json={"input": "renew a passport"}).json()
        assert len(body["data"][0]["embedding"]) == 256
    assert victim.process.poll() is None


def answers(client: httpx.Client, requests: Iterable[Request]) -> Iterator[httpx.Response]:
    for method, path, content in requests:
        shown = f"{method} {path[:100]} {(content or b'')[:200]!r}"
        try:
            answer = client.request(
                method, path, content=content, headers={"Content-Type": "application/json"}
            )
        except httpx.HTTPError as error:
            raise AssertionError(f"{shown}: {error!r}") from error
        assert answer.status_code < 500, f"{shown}: {answer.text}"
        if answer.headers.get("content-type", "").startswith("text/html"):
            assert path.partition("?")[0] in ("/", "//", "/.", "/%0a", "/%2F"), shown  # the page
            continue
        body = answer.json()
        if answer.status_code >= 400:
            assert_is_an_error(body, shown)
        yield answer


def assert_is_an_error(body: dict[str, Any], shown: str) -> None:
    """One line, in one of the three shapes."""
    if "error" in body and isinstance(body["error"], dict):
        message = body["error"]["message"]
    elif "error" in body:
        message = body["error"]
    else:
        message = body["message"]
    assert message, shown
    assert message.isprintable(), f"{shown}: {message!r}"
    assert len(message) < 1_000, f"{shown}: {message[:2_000]}"
