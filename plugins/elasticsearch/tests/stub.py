"""A server that checks and answers the requests that gem-index sends to Elasticsearch or OpenSearch.

It holds indices in memory and searches exactly. What it refuses follows the two servers' documentation: unknown parts of a
mapping, vectors that are not of the mapped length, or zero (and for Elasticsearch not of unit length), values that
contradict the type of a field, malformed bulk requests, writes through a name that is not an alias, rank features that are
not above 0, more than 1,024 clauses, values of a filter that do not fit the type of the field.
"""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np


class RefusedError(Exception):
    """An error answer: status, type and reason."""


class Stub:
    """The state of the server, and what it is told to do wrong."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.indices: dict[str, dict[str, Any]] = {}
        self.scrolls: dict[str, list[Any]] = {}
        self.failures: list[
            int | str
        ] = []  # statuses, "drop" or "busy", for the next requests that match
        self.fails_on = "_bulk"
        self.keys: set[str] = set()  # accepted Authorization headers; empty: anybody
        self.read_only: set[str] = set()  # users who may not write
        self.requests: list[tuple[str, str]] = []
        self.lock = threading.RLock()

    def answer(self, method: str, path: str, params: dict[str, str], body: bytes, kind: str) -> Any:
        parts = [unquote(part) for part in path.strip("/").split("/") if part]
        last = parts[-1] if parts else ""
        if not parts:
            return self.about()
        if last == "_bulk":
            if "ndjson" not in kind and self.kind == "elasticsearch":
                raise RefusedError(406, "content_type", f"Content-Type {kind} is not supported")
            return self.bulk(parts[0], params, body)
        content = json.loads(body) if body else {}
        if parts == ["_aliases"]:
            return self.aliases(content["actions"])
        if parts == ["_search", "scroll"]:
            return self.scroll(method, content)
        if last == "_refresh":
            self.resolve(parts[0])
            return {"_shards": {"failed": 0}}
        if last == "_mapping":
            return {parts[0]: {"mappings": mapping_of(self.resolve(parts[0]))}}
        if last == "_count":
            return {"count": len(self.resolve(parts[0])["docs"])}
        if last == "_search":
            return self.search(self.resolve(parts[0]), content, params)
        if last == "_mget" and method == "POST":
            return self.get_many(parts[0], content["ids"], params["_source"].split(","))
        if len(parts) == 1:
            return {"GET": self.describe, "PUT": self.create, "DELETE": self.delete}[method](
                parts[0], content
            )
        raise RefusedError(
            400, "illegal_argument_exception", f"no handler found for {method} {path}"
        )

    def about(self) -> Any:
        version = {"number": "9.2.0"}
        if self.kind == "opensearch":
            version = {"number": "3.1.0", "distribution": "opensearch"}
        return {"version": version, "tagline": "You Know, for Search"}

    def names(self, name: str) -> list[str]:
        if name in self.indices:
            return [name]
        return [each for each, index in self.indices.items() if name in index["aliases"]]

    def resolve(self, name: str) -> dict[str, Any]:
        found = self.names(name)
        if not found:
            raise RefusedError(404, "index_not_found_exception", f"no such index [{name}]")
        return self.indices[found[0]]

    def describe(self, name: str, _: Any) -> Any:
        self.resolve(name)
        return {
            each: {key: self.indices[each][key] for key in ("aliases", "mappings", "settings")}
            for each in self.names(name)
        }

    def create(self, name: str, body: Any) -> Any:
        if not re.fullmatch(r"[a-z0-9][a-z0-9_.-]*", name):
            raise RefusedError(400, "invalid_index_name_exception", f"Invalid index name [{name}]")
        if self.names(name):
            raise RefusedError(400, "resource_already_exists_exception", f"index [{name}] exists")
        if extra := set(body) - {"mappings", "settings", "aliases"}:
            raise RefusedError(400, "parse_exception", f"unknown key {extra}")
        check_mapping(self.kind, body["mappings"], body.get("settings", {}))
        self.indices[name] = {
            "aliases": body.get("aliases", {}),
            "mappings": body["mappings"],
            "settings": body.get("settings", {}),
            "docs": {},
            "types": {},
        }
        return {"acknowledged": True, "index": name}

    def delete(self, name: str, _: Any) -> Any:
        if name not in self.indices:
            raise RefusedError(404, "index_not_found_exception", f"no such index [{name}]")
        del self.indices[name]
        return {"acknowledged": True}

    def aliases(self, actions: list[Any]) -> Any:
        for action in actions:
            [(operation, target)] = action.items()
            index = self.resolve(target["index"])
            if operation == "add":
                index["aliases"][target["alias"]] = {}
            elif operation == "remove":
                del index["aliases"][target["alias"]]
            elif operation == "remove_index":
                del self.indices[target["index"]]
            else:
                raise RefusedError(400, "parse_exception", f"unknown action {operation}")
        return {"acknowledged": True}

    def get_many(self, name: str, keys: list[str], fields: list[str]) -> Any:
        if not keys:
            raise RefusedError(400, "action_request_validation_exception", "no documents to get")
        docs = self.resolve(name)["docs"]
        answers: list[Any] = []
        for key in keys:
            if key in docs:
                source = {each: docs[key][each] for each in fields if each in docs[key]}
                answers.append({"_index": name, "_id": key, "found": True, "_source": source})
            else:
                answers.append({"_index": name, "_id": key, "found": False})
        return {"docs": answers}

    def bulk(self, name: str, params: dict[str, str], body: bytes) -> Any:
        if not body.endswith(b"\n"):
            raise RefusedError(
                400, "illegal_argument_exception", "no newline at the end of the bulk request"
            )
        if params.get("require_alias") == "true" and name in self.indices:
            raise RefusedError(404, "index_not_found_exception", f"[{name}] is not an alias")
        index, items = self.resolve(name), []
        index["matrix"] = None
        lines = iter(body.decode().splitlines())
        for line in lines:
            [(operation, target)] = json.loads(line).items()
            key = target["_id"]
            if len(key.encode()) > 512 or not key:
                raise RefusedError(
                    400, "action_request_validation_exception", f"id [{key}] is too long"
                )
            if operation == "delete":
                status = 200 if index["docs"].pop(key, None) else 404
                items.append({"delete": {"_id": key, "status": status, "result": "deleted"}})
                continue
            assert operation == "index", operation
            source = json.loads(next(lines))
            try:
                check_document(self.kind, index, source)
            except RefusedError as error:
                _, kind, reason = error.args
                problem = {
                    "type": kind,
                    "reason": "failed to parse",
                    "caused_by": {"reason": reason},
                }
                items.append({"index": {"_id": key, "status": 400, "error": problem}})
            else:
                index["docs"][key] = source
                items.append({"index": {"_id": key, "status": 201, "result": "created"}})
        return {
            "errors": any("error" in next(iter(item.values())) for item in items),
            "items": items,
        }

    def search(self, index: dict[str, Any], body: Any, params: dict[str, str]) -> Any:
        docs = index["docs"]
        if "knn" in body or ("ids" not in body["query"] and body["query"] != {"match_all": {}}):
            scores = self.scores(
                index, body["knn"] if "knn" in body else body["query"], "knn" in body
            )
            best = sorted(scores.items(), key=lambda item: -item[1])[: body.get("size", 10)]
            hits = [self.hit(index, key, body, score) for key, score in best]
        elif "ids" in body["query"]:
            asked = body["query"]["ids"]["values"]
            keys = [key for key in dict.fromkeys(asked) if key in docs][: body.get("size", 10)]
            hits = [self.hit(index, key, body, 1.0) for key in keys]
        else:
            assert body["query"] == {"match_all": {}}, body
            hits = [self.hit(index, key, body, 1.0) for key in list(docs)]
        if "scroll" not in params:
            return {"hits": {"hits": hits}}
        size = int(params.get("size") or body["size"])
        with self.lock:
            scroll = f"s{len(self.scrolls)}"
            self.scrolls[scroll] = hits[size:]
        shards = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
        return {"_scroll_id": scroll, "_shards": shards, "hits": {"hits": hits[:size]}}

    def scores(self, index: dict[str, Any], query: Any, top: bool = False) -> dict[str, float]:
        """Return the score of each document that a query finds."""
        if top:  # Elasticsearch's "knn" beside "query"
            assert self.kind == "elasticsearch"
            return self.nearest(index, query)
        [(kind, content)] = query.items()
        if kind == "knn":
            if self.kind == "elasticsearch":
                found = self.nearest(
                    index, {name: content[name] for name in content if name != "boost"}
                )
                return {key: content.get("boost", 1) * score for key, score in found.items()}
            [(field, knn)] = content.items()
            assert set(knn) <= {"vector", "k", "filter"}, knn
            as_filters = {"filter": [knn["filter"]]} if "filter" in knn else {}
            return self.nearest(
                index, {"field": field, "query_vector": knn["vector"], "k": knn["k"]} | as_filters
            )
        if kind == "rank_feature":
            assert set(content) == {"field", "linear", "boost"}, content
            assert content["linear"] == {}
            assert content["boost"] >= 0
            field, _, term = content["field"].partition(".")
            assert index["mappings"]["properties"][field] == {"type": "rank_features"}
            values = {key: source.get(field, {}).get(term) for key, source in index["docs"].items()}
            return {
                key: content["boost"] * nine_bits(value)
                for key, value in values.items()
                if value is not None
            }
        if kind == "script_score":
            return self.scripted(index, content)
        assert kind == "bool", query
        assert set(content) <= {"should", "minimum_should_match", "filter"}, content
        if len(content["should"]) > 1024:
            raise RefusedError(400, "too_many_clauses", "maxClauseCount is set to 1024")
        assert "filter" not in content or content.get("minimum_should_match") == 1
        sums: dict[str, float] = {}
        for part in content["should"]:
            for key, score in self.scores(index, part).items():
                sums[key] = sums.get(key, 0.0) + score
        return {
            key: sums[key] for key in sums if self.passes(index, key, content.get("filter", []))
        }

    def nearest(self, index: dict[str, Any], knn: Any) -> dict[str, float]:
        """Return the scores of the k nearest documents, of those that pass the filters."""
        if self.kind == "elasticsearch":
            assert set(knn) - {"filter"} == {"field", "query_vector", "k", "num_candidates"}, knn
            assert knn["k"] <= knn["num_candidates"] <= 10_000
        assert knn["field"] == "vector"
        vector = np.array(knn["query_vector"])
        check_vector(self.kind, index["mappings"]["properties"]["vector"], list(vector))
        docs = index["docs"]
        if index.get("matrix") is None:
            keys = [key for key, source in docs.items() if "vector" in source]
            rows = np.array([docs[key]["vector"] for key in keys])
            index["matrix"] = keys, rows.reshape(len(keys), len(vector))
        keys, matrix = index["matrix"]
        scores = (1 + matrix @ vector) / 2
        ranked = ((keys[row], float(scores[row])) for row in np.argsort(-scores))
        passing = (item for item in ranked if self.passes(index, item[0], knn.get("filter", [])))
        return dict(islice(passing, knn["k"]))

    def scripted(self, index: dict[str, Any], content: Any) -> dict[str, float]:
        """Return what the script of the documentation's page computes of the documents that its query finds."""
        script = content["script"]
        assert script["source"] == (
            "_score + 1 + (doc['vector'].size() == 0 ? 0 : dotProduct(params.query, 'vector'))"
        )
        vector = np.array(script["params"]["query"])
        return {
            key: score + 1 + float(np.array(index["docs"][key].get("vector", 0 * vector)) @ vector)
            for key, score in self.scores(index, content["query"]).items()
        }

    def passes(self, index: dict[str, Any], key: str, filters: Any) -> bool:
        return all(self.meets(index, index["docs"][key], each) for each in filters)

    def meets(self, index: dict[str, Any], source: Any, query: Any) -> bool:
        """Tell whether a document meets a filter; values are compared as they are indexed."""
        [(kind, content)] = query.items()
        if kind == "bool":
            [(way, parts)] = content.items()
            return {"filter": all, "should": any}[way](
                self.meets(index, source, each) for each in parts
            )
        [(path, operand)] = content.items()
        held = index["types"].get(path)
        found = [
            as_indexed(value, held)
            for name, value in leaves("metadata", source["metadata"])
            if name == path
        ]
        if kind == "range":
            assert set(operand) <= {"gte", "lte"}
            for bound in operand.values():
                check_value(path, held, bound)
            low, high = operand.get("gte", -np.inf), operand.get("lte", np.inf)
            return any(low <= value <= high for value in found)
        assert kind in ("term", "terms"), query
        values = operand if kind == "terms" else [operand]
        for value in values:
            check_value(path, held, value)
        return any(value in found and type(value) in map(type, found) for value in values)

    def scroll(self, method: str, body: Any) -> Any:
        if method == "DELETE":
            for each in np.atleast_1d(body["scroll_id"]):
                self.scrolls.pop(str(each), None)
            return {"succeeded": True}
        hits = self.scrolls[body["scroll_id"]]
        self.scrolls[body["scroll_id"]] = hits[500:]
        shards = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
        return {"_scroll_id": body["scroll_id"], "_shards": shards, "hits": {"hits": hits[:500]}}

    def hit(self, index: dict[str, Any], key: str, body: Any, score: float) -> Any:
        source = dict(index["docs"][key])
        hit: dict[str, Any] = {"_id": key, "_score": score}
        if self.kind == "elasticsearch":  # as of 9.2: vectors only where they are asked for
            vector = source.pop("vector", None)
            if "vector" in body.get("fields", []) and vector is not None:
                hit["fields"] = {"vector": vector}
        chosen = body.get("_source", True)
        if isinstance(chosen, dict):
            assert list(chosen) == ["excludes"], chosen
            chosen = [name for name in source if name not in chosen["excludes"]]
        hit["_source"] = source if chosen is True else {name: source[name] for name in chosen}
        return hit


def check_mapping(kind: str, mappings: Any, settings: Any) -> None:
    known = {"_meta", "date_detection", "numeric_detection", "dynamic_templates", "properties"}
    if extra := set(mappings) - known:
        raise RefusedError(
            400, "mapper_parsing_exception", f"unsupported parameters: {sorted(extra)}"
        )
    vector = mappings["properties"]["vector"]
    if kind == "elasticsearch":
        assert set(vector) == {"type", "dims", "index", "similarity", "index_options"}, vector
        assert vector["type"] == "dense_vector"
        assert vector["similarity"] in ("cosine", "dot_product")
        assert 1 <= vector["dims"] <= 4096
    else:
        assert set(vector) == {"type", "dimension", "method"}, vector
        assert vector["type"] == "knn_vector"
        assert vector["method"]["space_type"] == "cosinesimil"
        assert settings == {"index": {"knn": True}}, "without it vectors are not indexed"
    assert mappings["properties"].get("words", {"type": "rank_features"}) == {
        "type": "rank_features"
    }
    for name in ("id", "text", "metadata"):
        assert mappings["properties"][name]["type"] in ("keyword", "text", "object")


def check_vector(kind: str, mapping: Any, vector: list[float]) -> None:
    length = mapping["dims" if kind == "elasticsearch" else "dimension"]
    if len(vector) != length:
        raise RefusedError(400, "document_parsing_exception", f"different dimensions {len(vector)} [{length}]")  # fmt: skip
    norm = float(np.linalg.norm(np.array(vector, np.float32)))
    if norm == 0:
        raise RefusedError(400, "document_parsing_exception", "does not support vectors with zero magnitude")  # fmt: skip
    if kind == "elasticsearch" and abs(norm - 1) > 1e-3:
        raise RefusedError(
            400, "document_parsing_exception", "dot_product requires unit-length vectors"
        )


def check_document(kind: str, index: dict[str, Any], source: Any) -> None:
    assert set(source) <= {"id", "text", "metadata", "vector", "words"}, source
    if "words" in source:
        assert "words" in index["mappings"]["properties"], "it would be mapped as an object"
        if not all(
            "." not in term and value >= 2.0**-126 for term, value in source["words"].items()
        ):
            raise RefusedError(400, "document_parsing_exception", "a rank feature must be a positive float")  # fmt: skip
    if "vector" in source:
        check_vector(kind, index["mappings"]["properties"]["vector"], source["vector"])
    for path, found in types("metadata", source["metadata"]):
        held = index["types"].setdefault(path, found)
        fits = found == held or (held == "keyword" and found != "object") or {found, held} == {"long", "double"}  # fmt: skip
        if not fits:
            raise RefusedError(
                400, "document_parsing_exception", f"field [{path}] of type [{held}]"
            )


def nine_bits(value: float) -> float:
    """Return a rank feature as it is indexed: with 9 significant bits."""
    bits = np.float32(value).view(np.uint32) & np.uint32(0xFFFF8000)
    return float(bits.view(np.float32))


def leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Iterate over the paths and values of a field, each member of a list by itself."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(f"{path}.{name}", inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(path, inner)
    elif value is not None:
        yield path, value


def as_indexed(value: Any, held: str | None) -> Any:
    """Return a value as a field of a type indexes it: whole numbers, floats, or texts of at most 8,191 signs."""
    if held == "long":
        return int(value)
    if held == "double":
        return float(value)
    return None if isinstance(value, str) and len(value) > 8191 else value


def check_value(path: str, held: str | None, value: Any) -> None:
    """Refuse a value of a filter that a field's type cannot be compared with."""
    names = {
        bool: ("boolean",),
        int: ("long", "double"),
        float: ("long", "double"),
        str: ("keyword",),
    }
    if held not in names[type(value)]:
        raise RefusedError(400, "query_shard_exception", f"no query of {value!r} for [{path}] of type [{held}]")  # fmt: skip


def mapping_of(index: dict[str, Any]) -> Any:
    """Return the mapping of an index with the fields of metadata that came with its documents."""
    metadata: dict[str, Any] = {}
    for path, kind in index["types"].items():
        place = metadata
        for name in path.split(".")[1:]:
            place = place.setdefault("properties", {}).setdefault(name, {})
        place |= {} if kind == "object" else {"type": kind}
    properties = dict(index["mappings"]["properties"])
    return index["mappings"] | {"properties": properties | {"metadata": metadata}}


def types(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        yield path, "object"
        for name, inner in value.items():
            yield from types(f"{path}.{name}", inner)
    elif isinstance(value, list):
        for inner in value:
            yield from types(path, inner)
    elif value is not None:
        names = {bool: "boolean", int: "long", float: "double", str: "keyword"}
        yield path, names[type(value)]


@contextmanager
def serve(kind: str) -> Iterator[tuple[Stub, str]]:
    """Yield the state of a running server, and its host and port."""
    stub = Stub(kind)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def respond(self) -> None:
            url = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            stub.requests.append((self.command, url.path))
            if stub.failures and stub.fails_on in url.path:
                failure = stub.failures.pop(0)
                if failure == "drop":
                    self.close_connection = True
                    self.connection.close()
                    return
                if failure == "busy":
                    item = {
                        "index": {"_id": "1", "status": 429, "error": {"reason": "queue is full"}}
                    }
                    self.send(200, {"errors": True, "items": [item] * (body.count(b"\n") // 2)})
                    return
                self.send(
                    int(failure), {"error": {"type": "x", "reason": "told to"}, "status": failure}
                )
                return
            try:
                self.authorize(url.path)
                params = {name: values[-1] for name, values in parse_qs(url.query).items()}
                with stub.lock:
                    content = stub.answer(
                        self.command, url.path, params, body, self.headers.get("content-type", "")
                    )
                self.send(200, content)
            except RefusedError as error:
                status, kind, reason = error.args
                self.send(status, {"error": {"type": kind, "reason": reason}, "status": status})

        def authorize(self, path: str) -> None:
            given = self.headers.get("authorization", "")
            if stub.keys and given not in stub.keys:
                raise RefusedError(
                    401, "security_exception", f"unable to authenticate with {given}"
                )
            if given in stub.read_only and "_bulk" in path:
                raise RefusedError(403, "security_exception", "action [write] is unauthorized")

        def send(self, status: int, content: Any) -> None:
            data = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            if stub.kind == "elasticsearch":
                self.send_header("x-elastic-product", "Elasticsearch")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = respond  # noqa: N815 - names of http.server

        def log_message(self, *_: Any) -> None:
            """Be quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield stub, f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
