"""The commands serve and keys."""

from __future__ import annotations

from dataclasses import asdict
from typing import ClassVar

import httpx
import pytest

from gem_index import Home
from gem_index.home.key_library import digest_of
from gem_index.server.running import ServeOptions
from server_process import ServerProcess


class TestKeys:
    def test_add_list_remove(self, gem, tmp_path):
        added = gem("keys", "add", "shop", "--allow", "write", "--json").json
        assert (added["name"], added["allow"]) == ("shop", "write")
        [listed] = gem("keys", "list", "--json").json
        assert listed == {
            "name": "shop",
            "allow": "write",
            "created_at": listed["created_at"],
            "made_by": None,
        }
        assert added["key"] not in gem("keys", "list").out
        assert gem("keys", "remove", "shop", "--json").json == {
            "removed": "shop",
            "also_removed": [],
            "made_keys_left": [],
        }
        assert gem("keys", "list", "--json").json == []
        plain = gem("keys", "add", "other").out.strip()
        assert plain.startswith("gem-")

    def test_keys_that_a_key_has_made(self, gem, tmp_path):
        """Who removes a key that became known to others sees which keys it has made."""
        home = Home(tmp_path / "home")
        for maker in ("lead", "other"):
            digest = digest_of(gem("keys", "add", maker, "--allow", "keys").out.strip())
            for number in (1, 2):
                home.keys.add(f"{maker}-{number}", maker=digest)
        assert "lead-1: read, of " in gem("keys", "list").out
        assert gem("keys", "list").out.count(", made by lead\n") == 2
        assert gem("keys", "remove", "lead").out == (
            "removed the key lead\n2 keys that it made are left: lead-1, lead-2\n"
        )
        answer = gem("keys", "remove", "other", "--made", "--json").json
        assert answer == {
            "removed": "other",
            "also_removed": ["other-1", "other-2"],
            "made_keys_left": [],
        }
        assert [each["name"] for each in gem("keys", "list", "--json").json] == ["lead-1", "lead-2"]
        assert gem("keys", "remove", "lead-1").out == "removed the key lead-1\n"
        digest = digest_of(gem("keys", "add", "third", "--allow", "keys").out.strip())
        home.keys.add("third-1", maker=digest)
        assert gem("keys", "remove", "third", "--made").out == (
            "removed the key third\nremoved the keys that it made: third-1\n"
        )

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (("add", "a b"), "the key name is 'a b'"),
            (("add", "x", "--allow", "root"), "expected read, write, admin, keys"),
            (("remove", "nope"), "no key is named 'nope'"),
        ],
    )
    def test_bad_input(self, gem, arguments, told):
        answer = gem("keys", *arguments)
        assert answer.status == 2
        assert told in answer.err
        assert answer.err.count("\n") == 1


class TestOptions:
    """What reaches the server, of options that are all given, and of none."""

    @pytest.fixture
    def asked(self, monkeypatch):
        """The options of the servers that commands start, which begin at once and end."""
        found = []

        def serve(options, announce, build=None):
            announce("http://127.0.0.1:1")
            found.append((asdict(options), build and build.keywords))

        monkeypatch.setattr("gem_index.server.running.serve", serve)
        return found

    @pytest.fixture
    def keys(self, tmp_path):
        path = tmp_path / "keys.txt"
        path.write_text("# ours\none read\n\ntwo write\nthree\nfour admin\n")
        return path

    HASHES: ClassVar = {
        digest_of(key).hex(): allowed
        for key, allowed in (
            ("one", "read"),
            ("two", "write"),
            ("three", "admin"),
            ("four", "admin"),
        )
    }
    SHARED: ClassVar = ("--host", "::1", "--port", 0, "--insecure", "--name", "a", "--name", "b")

    def test_serve(self, gem, asked, keys, tmp_path):
        options = ("--workers", 2, "--key-file", keys, "--allow-origin", "app://x")
        more = ("--alias", "a=b=c", "--target", "t=u", "--table", "v=w", "--backups", "kept")
        answer = gem("serve", *self.SHARED, *options, *more)
        assert (answer.status, answer.out) == (0, "")
        assert answer.err == "Serving at http://127.0.0.1:1 until Ctrl-C.\n"
        gem("serve")
        home = str(tmp_path / "home")
        assert [found for found, _ in asked] == [
            {
                "home": home,
                "host": "::1",
                "port": 0,
                "workers": 2,
                "keys": self.HASHES,
                "insecure": True,
                "names": ("a", "b"),
                "origins": ("app://x",),
                "aliases": {"a": "b=c"},
                "targets": {"t": "u"},
                "tables": {"v": "w"},
                "backups": "kept",
            },
            asdict(ServeOptions(home=home)),
        ]

    def test_mcp(self, gem, asked, keys, tmp_path):
        options = ("--key-file", keys, "--table", "v=w", "--collection", "faq", "--allow-add")
        answer = gem("mcp", "--http", *self.SHARED, *options)
        assert (answer.status, answer.out) == (0, "")
        assert answer.err == "Serving at http://127.0.0.1:1/mcp until Ctrl-C.\n"
        gem("mcp", "--http")
        home = str(tmp_path / "home")
        given = {"home": home, "host": "::1", "port": 0, "keys": self.HASHES, "insecure": True}
        given |= {"names": ("a", "b"), "tables": {"v": "w"}}
        assert asked == [
            (asdict(ServeOptions(**given)), {"only": ("faq",), "allow_add": True}),
            (asdict(ServeOptions(home=home, port=8081)), {"only": (), "allow_add": False}),
        ]

    @pytest.mark.parametrize(
        ("content", "told"),
        [
            ("one read more\n", "line 1: expected KEY, or KEY and one of read, write, admin"),
            ("\n# x\none root\n", "line 3: expected KEY, or KEY and one of read, write, admin"),
        ],
    )
    def test_a_wrong_line_of_keys(self, gem, tmp_path, content, told):
        path = tmp_path / "keys.txt"
        path.write_text(content)
        assert gem("serve", "--key-file", path).err == f"Error: {path} {told}\n"
        path.write_text("# none\n")
        assert gem("serve", "--key-file", path).err == (
            f"Error: {path} holds no key; expected one a line\n"
        )


class TestServe:
    @pytest.mark.parametrize(
        ("options", "told"),
        [
            (("--host", "0.0.0.0"), "there is no key"),
            (("--host", "256.1.1.1", "--insecure"), "cannot listen at '256.1.1.1'"),
            (("--alias", "gpt"), "--alias is 'gpt'; expected NAME=VALUE"),
            (("--alias", "a=gem-index", "--alias", "a=gem-index"), "each name once"),
            (("--alias", "a=nope"), "no model is named 'nope'"),
            (("--alias", "a=collection:nope"), "make one with: gem-index build NAME FILE"),
            (("--target", "=x"), "--target is ''"),
            (("--target", "lake=nosuch://x"), "nosuch"),
            (("--key-file", "absent.txt"), "absent.txt"),
            (("--backups", "/proc/nowhere"), "cannot make the folder of the backups"),
        ],
    )
    def test_bad_input(self, gem, options, told):
        answer = gem("serve", "--port", "0", *options)
        assert answer.status == 2, answer.err
        assert told in answer.err
        assert answer.err.count("\n") == 1

    @pytest.mark.parametrize(
        ("content", "told"),
        [
            ("", "holds no key"),
            ("# nothing\n\n", "holds no key"),
            ("secret root\n", "line 1: expected KEY"),
            ("a\nsecret read more\n", "line 2: expected KEY"),
            (
                "secret keys\n",
                "line 1: a key that allows keys has a name, which a key file cannot give; expected read, write or admin: "
                "make one with: gem-index keys add NAME --allow keys\n",
            ),
        ],
    )
    def test_a_bad_key_file(self, gem, tmp_path, content, told):
        path = tmp_path / "keys.txt"
        path.write_text(content)
        answer = gem("serve", "--port", "0", "--key-file", path)
        assert answer.status == 2
        assert told in answer.err
        assert "secret " not in answer.err

    def test_keys_of_a_file_and_a_name(self, tmp_path):
        path = tmp_path / "keys.txt"
        path.write_text("# of the shop\nsecret-of-the-shop read\nsecret-of-us\n")
        Home(tmp_path / "home").create_collection("faq")
        with (
            ServerProcess(
                tmp_path / "home",
                "--key-file",
                str(path),
                "--name",
                "shop.example",
                "--alias",
                "ada=gem-index",
            ) as server,
            httpx.Client(
                base_url=server.url, headers={"Host": "shop.example"}, timeout=60
            ) as client,
        ):
            assert client.get("/collections").status_code == 401
            client.headers["Authorization"] = "Bearer secret-of-the-shop"
            assert client.get("/collections").json()["collections"][0]["name"] == "faq"
            body = {"input": "a", "model": "ada"}
            assert client.post("/v1/embeddings", json=body).json()["model"] == "ada"
            assert client.delete("/collections/faq").status_code == 403
            client.headers["Authorization"] = "Bearer secret-of-us"
            assert client.delete("/collections/faq").status_code == 200
        assert not any("secret-of" in line for line in server.log)
