"""How a server begins, in this process: its address, its settings, and that each option reaches its application."""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
from dataclasses import asdict

import pytest
from fastapi.testclient import TestClient

from gem_index.errors import ConfigError
from gem_index.home.key_library import digest_of
from gem_index.server import running
from gem_index.server.running import ServeOptions, open_listener, serve


@pytest.fixture
def begun(monkeypatch):
    """The settings of the servers that would run."""
    found = []
    monkeypatch.setattr(
        running.uvicorn.Server, "run", lambda self, sockets: found.append((self.config, sockets))
    )
    monkeypatch.setattr(running, "log_as_json", lambda: None)
    monkeypatch.setenv(running._OPTIONS, "")
    return found


def test_it_tells_its_address_and_has_these_settings(home, begun, monkeypatch):
    monkeypatch.setenv("GEM_INDEX_SERVER_SHUTDOWN", "0.2")
    told = []
    options = ServeOptions(home=str(home.root), port=0, names=("a",), insecure=True)
    serve(options, told.append)
    [(config, [listener])] = begun
    assert listener.fileno() == -1  # closed at the end
    assert told[0].startswith("http://127.0.0.1:")
    assert told[0] != "http://127.0.0.1:0"
    names = ("factory", "ws", "access_log", "server_header", "proxy_headers", "timeout_keep_alive")
    assert {name: getattr(config, name) for name in names} == {
        "factory": True,
        "ws": "none",
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "timeout_keep_alive": 75,
    }
    assert config.timeout_graceful_shutdown == 1
    assert config.http is running.PatientProtocol
    assert json.loads(os.environ[running._OPTIONS]) == json.loads(json.dumps(asdict(options)))


@pytest.mark.parametrize("host", ["::1", "[::1]"])
def test_an_address_of_ipv6_is_told_in_brackets(home, begun, host):
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            pass
    except OSError:
        pytest.skip("this machine has no IPv6")
    told = []
    serve(ServeOptions(home=str(home.root), host=host, port=0), told.append)
    assert told[0].startswith("http://[::1]:")


def test_an_address_that_cannot_be_used_is_told_whole():
    with open_listener("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError) as refused:
            open_listener("127.0.0.1", port)
    assert str(refused.value) == (
        f"cannot listen at '127.0.0.1', port {port}: Address already in use; expected an address of this machine and a free "
        "port"
    )


def test_a_key_that_is_given_is_enough(home, begun):
    keys = {digest_of("x").hex(): "read"}
    serve(ServeOptions(home=str(home.root), host="0.0.0.0", port=0, keys=keys), print)
    home.keys.add("shop")
    serve(ServeOptions(home=str(home.root), host="0.0.0.0", port=0), print)
    assert len(begun) == 2


def test_each_option_reaches_the_application(home, begun, monkeypatch, tmp_path):
    home.create_collection("faq").upsert([("1", "a visa")])
    home.collection("faq").push(f"parquet://{tmp_path}/table")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GEM_INDEX_SERVER_TEXTS", "3")
    monkeypatch.setattr(running, "prepare_process", lambda: None)
    options = ServeOptions(
        home=str(home.root),
        keys={digest_of("KEY").hex(): "admin"},
        names=("shop.example",),
        origins=("app://x",),
        aliases={"ada": "gem-index"},
        targets={"lake": f"parquet://{tmp_path}/lake"},
        tables={"shop": f"parquet://{tmp_path}/table"},
        backups="~/kept",
    )
    monkeypatch.setenv(running._OPTIONS, json.dumps(asdict(options)))
    with TestClient(running.application(), base_url="http://shop.example") as client:
        assert client.get("/health", headers={"Host": "evil.example"}).status_code == 403
        assert client.get("/access").status_code == 401
        client.headers["Authorization"] = "Bearer KEY"
        expected = {"permission": "admin", "targets": ["lake"], "backups": True}
        assert client.get("/access").json() == expected
        assert client.get("/health", headers={"Origin": "app://x"}).status_code == 200
        assert client.get("/info").json()["max_client_batch_size"] == 3
        assert client.get("/v1/models/ada").json()["id"] == "ada"
        assert client.get("/collections").json()["tables"] == [{"name": "shop"}]
        client.post("/backup")
    assert [path.is_dir() for path in (tmp_path / "kept").glob("2*")] == [True]


def test_a_wrong_target_is_told_at_the_start(home, begun):
    for targets in ({"lake": "parquet:/x"}, {"lake": "nosuch://x"}):
        with pytest.raises(Exception, match="parquet:/x|nosuch"):
            serve(ServeOptions(home=str(home.root), port=0, targets=targets), print)
    assert not begun


def test_what_is_logged():
    """Requests of the server, warnings of others, errors of uvicorn without requests; each once."""
    names = ("gem_index.server", "uvicorn", "mcp", "uvicorn.error")
    loggers = [logging.getLogger(name) for name in names]
    before = [(each.handlers, each.propagate, each.level) for each in loggers]
    try:
        running.log_as_json()
        levels = {each.name: logging.getLevelName(each.level) for each in loggers}
        assert levels == {
            "gem_index.server": "INFO",
            "uvicorn": "WARNING",
            "mcp": "WARNING",
            "uvicorn.error": "WARNING",
        }
        for each in loggers[:3]:
            [handler] = each.handlers
            assert handler.stream is sys.stderr
            assert isinstance(handler.formatter, running.JsonFormatter)
            assert not each.propagate
    finally:
        for each, (handlers, propagate, level) in zip(loggers, before, strict=True):
            each.handlers, each.propagate = handlers, propagate
            each.setLevel(level)


def test_a_missing_key_is_told_whole(home):
    for options in ({"host": "0.0.0.0"}, {"host": "127.0.0.1", "names": ("0.0.0.0", "b")}):
        with pytest.raises(ConfigError) as refused:
            serve(ServeOptions(home=str(home.root), port=0, **options), print)
        assert str(refused.value) == (
            "'0.0.0.0' can be reached from other machines, and there is no key; expected a key: make it with "
            "home.keys.add(name), or serve with insecure=True"
        )
