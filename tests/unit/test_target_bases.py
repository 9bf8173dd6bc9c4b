"""What engines share: words for the errors of a client, paths on this machine, and a table for each state."""

import hashlib

import pytest

from gem_index.errors import ConfigError
from gem_index.targets import (
    FILE_ADVICE,
    FOLDER_ADVICE,
    AliasTarget,
    ClientErrors,
    TableTarget,
    TargetSchema,
    TargetUrl,
    check_table_name,
    has_database,
    local_path,
    query_table_name,
    row_of,
)

SCHEMA = TargetSchema(fingerprint="f" * 64, dimension=2, token="t")


class TestSchema:
    @pytest.mark.parametrize("texts", [True, False])
    @pytest.mark.parametrize("words", ["", "bm25 en"])
    def test_texts_say_what_it_is(self, texts, words):
        schema = TargetSchema(fingerprint="f", dimension=3, token="t", texts=texts, words=words)
        written = schema.to_strings()
        assert written == {
            "gem_fingerprint": "f",
            "gem_dimension": "3",
            "gem_token": "t",
            "gem_texts": str(texts),
            "gem_words": words,
        }
        assert TargetSchema.from_strings(written) == schema

    @pytest.mark.parametrize("change", [{"gem_dimension": "x"}, {"gem_dimension": None}, None])
    def test_other_texts_are_of_somebody_else(self, change):
        written = SCHEMA.to_strings()
        assert TargetSchema.from_strings({} if change is None else written | change) is None
        del written["gem_words"]  # of an earlier version
        assert TargetSchema.from_strings(written) == SCHEMA

    def test_fields_that_have_the_name_of_an_own_value(self):
        fields = {"id": 1, "text": "t", "page": 3}
        assert row_of(fields, id="a", text="whole") == {
            "id": "a", "text": "whole", "_id": 1, "_text": "t", "page": 3,
        }  # fmt: skip
        assert row_of(fields, id="a") == {"id": "a", "_id": 1, "text": "t", "page": 3}


class TestClientErrors:
    errors = ClientErrors(
        "the database /d/faq",
        "a database to read and write",
        [("locked", "wait for the program that has it open"), *FILE_ADVICE],
        otherwise="check the file",
        secrets=["", "s3cr3t"],
    )

    def told(self, error):
        with pytest.raises(ConfigError) as caught, self.errors.caught(ValueError, OSError):
            raise error
        assert caught.value.__cause__ is error
        return str(caught.value)

    def test_the_advice_is_the_first_that_fits(self):
        assert self.told(ValueError("readonly and locked")) == (
            "found the database /d/faq: readonly and locked; expected a database to read and write; "
            "wait for the program that has it open"
        )
        assert self.told(OSError("Permission denied")).endswith(
            "; make the file and its folder writable"
        )
        assert self.told(OSError("odd")).endswith("; check the file")

    @pytest.mark.parametrize(
        ("text", "file", "folder"),
        [
            (
                text,
                "make the file and its folder writable",
                "make the folder and its files writable",
            )
            for text in (
                *(
                    "Permission denied",
                    "Read-only file system",
                    "attempt to write a readonly database",
                ),
                "unable to open database file",
            )
        ]
        + [
            (text, "free some space", "free some space")
            for text in ("No space left on device", "database or disk is full")
        ]
        + [(text, "name a folder", "name a folder") for text in ("Not a directory", "File exists")],
    )
    def test_the_advice_for_errors_of_the_disk(self, text, file, folder):
        for advice, told in ((FILE_ADVICE, file), (FOLDER_ADVICE, folder)):
            errors = ClientErrors("a place", "another", advice, otherwise="check it")
            assert str(errors.refusal(OSError(text))) == (
                f"found a place: {text}; expected another; {told}"
            )

    def test_one_line_without_secrets(self):
        assert self.errors.reason(ValueError("a\n  key s3cr3t\tis wrong")) == "a key *** is wrong"
        assert self.errors.reason(ValueError()) == "ValueError"
        assert self.errors.reason(ValueError("x" * 1000)) == "x" * 240

    def test_the_advice_may_depend_on_what_is_not_shown(self):
        error = self.told(ValueError("x" * 300 + " is locked"))
        assert error.endswith("; wait for the program that has it open")
        assert "locked" not in error

    def test_an_advice_of_the_caller(self):
        assert str(self.errors.refusal(ValueError("locked"), "ask Ann")).endswith("; ask Ann")

    def test_other_errors_pass(self):
        with pytest.raises(ZeroDivisionError), self.errors.caught(ValueError):
            _ = 1 / 0


class TestLocal:
    def test_a_path(self, tmp_path):
        url = TargetUrl.parse(f"my:///{tmp_path}/db?table=faq")
        assert local_path(url, "my:///FILE") == tmp_path / "db"

    @pytest.mark.parametrize("place", ["my://host/db", "my://ann@host/db", "my://ann@/db"])
    def test_a_host(self, place):
        with pytest.raises(ConfigError, match=r"found a host .*; expected my:///FILE; .* path$"):
            local_path(TargetUrl.parse(place), "my:///FILE")
        with pytest.raises(ConfigError, match=r"full path, or my\+http:// for a server"):
            local_path(TargetUrl.parse(place), "my:///FILE", server="my+http://")

    def test_a_missing_folder(self, tmp_path):
        with pytest.raises(
            ConfigError, match=r"found no folder .*no/such; .*; check the path, or create it"
        ):
            local_path(TargetUrl.parse(f"my://{tmp_path}/no/such/db"), "my:///FILE")

    def test_a_folder_with_a_database_or_room_for_one(self, tmp_path):
        folder = tmp_path / "db"
        assert not has_database(folder, "mark", "My")
        folder.mkdir()
        assert not has_database(folder, "mark", "My")
        (folder / "letter").touch()
        with pytest.raises(ConfigError, match="with other files; .* one of My; name another"):
            has_database(folder, "mark", "My")
        (folder / "mark").touch()
        assert has_database(folder, "mark", "My")
        with pytest.raises(ConfigError, match="found the file .*; expected a folder of My"):
            has_database(folder / "mark", "mark", "My")


class TestUrl:
    @pytest.mark.parametrize(
        ("text", "parts", "shown"),
        [
            (
                "My-DB+http://a%40b:p%2Fw@[::1]:80/x?table=t&empty=&table_2=%C3%BC",
                ("my-db+http", "[::1]:80", "/x", "a@b", "p/w"),
                "my-db+http://[::1]:80/x?empty=&table=t&table_2=ü",
            ),
            ("my://host?b=2&a=1", ("my", "host", "", "", ""), "my://host?a=1&b=2"),
            ("my:///%7Ex/a%20b", ("my", "", "/~x/a b", "", ""), "my:///~x/a b"),
            ("my://../a", ("my", "", "{above}/a", "", ""), "my://{above}/a"),
            ("my://host/?PWD=x&Auth=y&t=z", ("my", "host", "/", "", ""), "my://host/?t=z"),
        ],
    )
    def test_its_parts(self, tmp_path, monkeypatch, text, parts, shown):
        monkeypatch.chdir(tmp_path)
        above = str(tmp_path.parent)
        url = TargetUrl.parse(text)
        assert (url.scheme, url.host, url.path, url.user, url.password) == tuple(
            part.format(above=above) for part in parts
        )
        assert str(url) == shown.format(above=above)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (
                "faq?key=k3y",
                "the target is 'faq'; expected a URL such as lancedb:///path?table=faq",
            ),
            (
                "my://ann:x@k3y@host:port/db?key=k3y",
                "the target 'my://***@host:port/db' is not a URL; expected a number as the port, and in a password "
                "%2F, %3F, %23, %40 and %5B instead of / ? # @ and [",
            ),
            (
                "my:///?table=t",
                "the target 'my:///' names neither a host nor a path; expected one of them",
            ),
        ],
    )
    def test_what_is_said_about_one_that_cannot_be_read(self, text, message):
        with pytest.raises(ConfigError) as caught:
            TargetUrl.parse(text)
        assert str(caught.value) == message

    def test_an_option_without_a_value_is_missing(self):
        with pytest.raises(ConfigError) as caught:
            TargetUrl.parse("my://host/?table=").option("table")
        assert (
            str(caught.value) == "the target my://host/?table= has no table; expected ?table=NAME"
        )

    def test_a_secret_comes_from_the_nearest_place(self, tmp_path, monkeypatch):
        for name in ("option", "variable"):
            (tmp_path / name).write_text(f"  file of the {name} \nsecond line\n")
        options = f"key_file={tmp_path}/option"
        monkeypatch.setenv("GEM_INDEX_TARGET_KEY_FILE", f"{tmp_path}/variable")
        monkeypatch.setenv("GEM_INDEX_TARGET_PASSWORD", "of the variable")
        assert TargetUrl.parse("my://host/").secret("key") == "file of the variable"
        monkeypatch.setenv("GEM_INDEX_TARGET_KEY", "variable")
        assert TargetUrl.parse("my://host/").secret("key") == "variable"
        assert TargetUrl.parse(f"my://host/?{options}").secret("key") == "file of the option"
        assert TargetUrl.parse(f"my://host/?{options}&key=given").secret("key") == "given"
        assert TargetUrl.parse("my://ann:pw@host/?password=x&user=y").secret("password") == "pw"
        assert TargetUrl.parse("my://ann:pw@host/?password=x&user=y").secret("user") == "ann"
        assert TargetUrl.parse("my://host/").secret("password") == "of the variable"
        assert TargetUrl.parse("my://host/").secret("user") == ""

    @pytest.mark.parametrize("content", [b"", b"\xff", None])
    def test_a_file_with_a_secret(self, tmp_path, monkeypatch, content):
        monkeypatch.chdir(tmp_path)
        path = tmp_path / "secret"
        if content is not None:
            path.write_bytes(content)
        url = TargetUrl.parse("my://host/?key_file=secret")
        if content == b"":
            assert url.secret("key") == ""
            return
        with pytest.raises(ConfigError) as caught:
            url.secret("key")
        message = str(caught.value)
        assert message.startswith("the option key_file names 'secret', which cannot be read: ")
        assert message.endswith("; expected a text file that holds the secret")

    def test_a_timeout(self):
        url = "my://host/?timeout="
        assert TargetUrl.parse(url + "7").timeout(30) == 7
        assert TargetUrl.parse("my://host/").timeout(30) == 30
        assert [TargetUrl.parse(url + text).timeout(30) for text in ("1", "3600")] == [1, 3600]
        for wrong in ("0", "3601", "1.5", "x"):
            with pytest.raises(ConfigError, match="found the timeout"):
                TargetUrl.parse(url + wrong).timeout(30)

    def test_a_secret_for_a_header(self):
        assert TargetUrl.parse("my://host/?key=k3y").header_secret("key") == "k3y"
        assert TargetUrl.parse("my://host/").header_secret("key") == ""
        for wrong in ("schlüssel", "schl%0A"):
            with pytest.raises(ConfigError) as caught:
                TargetUrl.parse(f"my://host/?key={wrong}").header_secret("key")
            assert str(caught.value) == (
                "the target my://host/ has a key that no header can hold; expected printable ASCII characters; "
                "check where it comes from"
            )


class TestSecondTable:
    @pytest.mark.parametrize(
        ("name", "second"),
        [
            ("faq", "faq__query"),
            ("t" * 43, "t" * 43 + "__query"),
            ("t" * 44, "t" * 34 + "_" + hashlib.sha256(b"t" * 44).hexdigest()[:8] + "__query"),
        ],
    )
    def test_its_name_has_at_most_50_characters(self, name, second):
        assert query_table_name(name) == second
        assert len(second) <= 50


class TestTableName:
    @pytest.mark.parametrize("name", ["t", "Faq_2", "t" * 50])
    def test_is_returned(self, name):
        assert check_table_name(name) == name

    @pytest.mark.parametrize("name", ["", "t" * 51, "a-b", 'a"b', "a b", "größe", "faq\n"])
    def test_that_needs_quotes_or_leaves_no_room_for_endings(self, name):
        with pytest.raises(ConfigError, match="found the table name .* at most 50 letters"):
            check_table_name(name)


class _Table:
    def __init__(self, schema):
        self.schema = schema


class _Memory(TableTarget):
    """Tables in a dictionary; None is a table of somebody else."""

    noun = "box"

    def __init__(self):
        super().__init__(TargetUrl.parse("my:///d"), {"live": "faq", "staged": "faq__staged"})
        self.tables = {}

    def find(self, state):
        name = self.names[state]
        if name in self.tables and self.tables[name] is None:
            raise self.foreign(name)
        return self.tables.get(name)

    def add(self, state, schema):
        return self.tables.setdefault(self.names[state], _Table(schema))

    def remove(self, state):
        self.tables.pop(self.names[state], None)


class TestTableTarget:
    def test_tables_come_and_go(self):
        target = _Memory()
        assert target.live() is target.staged() is None
        live = target.create(SCHEMA)
        for call, message in (
            (
                lambda: target.create(SCHEMA),
                "found the box faq in my:///d; expected none; drop it before it is created",
            ),
            (
                target.both,
                "found no staged box of faq in my:///d; expected one; push in full again",
            ),
        ):
            with pytest.raises(ConfigError) as caught:
                call()
            assert str(caught.value) == message
        first, staged = target.stage(SCHEMA), target.stage(SCHEMA)
        assert staged is not first
        assert target.both() == (live, staged)
        target.drop()
        assert target.tables == {}

    @pytest.mark.parametrize("name", ["faq", "faq__staged"])
    def test_a_table_of_somebody_else(self, name):
        target = _Memory()
        target.tables[name] = None
        for call in (target.drop, target.both, lambda: target.stage(SCHEMA)):
            with pytest.raises(
                ConfigError, match=rf"found {name} in .*choose another name in \?box="
            ):
                call()
        assert target.tables == {name: None}


class _Generation(_Table):
    def __init__(self, name, schema, created):
        super().__init__(schema)
        self.name = name
        self._created = created

    def create(self):
        self._created[self.name] = self.schema


class _Aliases(AliasTarget):
    """Collections in a dictionary, each with its schema; None is the schema of a collection of somebody else."""

    too_old = "found an old server at {url}"

    def __init__(self, name="faq"):
        super().__init__(TargetUrl.parse(f"my:///d?collection={name}"), "[a-z.]+", "letters")
        self.created, self.named, self.there = {}, None, True

    def exists(self):
        return self.there

    def collections(self):
        assert self.there, "looking creates it"
        return set(self.created)

    def aliased(self):
        return self.named

    def schema_of(self, name):
        return self.created.get(name)

    def table(self, name, schema):
        return _Generation(name, schema, self.created)

    def point_alias(self, name):
        assert name is None or name in self.created
        self.named = name

    def remove(self, name):
        assert name != self.named, "readers would find nothing"
        del self.created[name]


class TestAliasTarget:
    def test_generations_come_and_go(self):
        target = _Aliases()
        assert target.live() is target.staged() is None
        with pytest.raises(ConfigError, match="found no staged collection of faq in"):
            target.switch()
        assert target.create(SCHEMA).name == target.named == "faq__gem_1"
        assert target.staged() is None
        with pytest.raises(
            ConfigError, match="found the collection faq in my:///d.*; expected none"
        ):
            target.create(SCHEMA)
        target.stage(SCHEMA)
        assert target.stage(SCHEMA).name == target.staged().name
        assert (len(target.created), target.live().name) == (2, "faq__gem_1")
        last = target.staged().name
        target.switch()
        assert (target.collections(), target.live().name) == ({last}, last)
        target.drop()
        assert (target.created, target.named) == ({}, None)

    def test_what_a_killed_first_push_leaves_is_dropped_by_the_next(self):
        target = _Aliases()
        target.created = {"faq__gem_4": SCHEMA, "faq__gem_5": None, "faq__gem_x": SCHEMA}
        assert target.create(SCHEMA).name == "faq__gem_6"  # 5 is a name of somebody else
        assert target.collections() == {"faq__gem_5", "faq__gem_6", "faq__gem_x"}

    @pytest.mark.parametrize(("name", "named"), [("faq", None), ("theirs", "theirs")])
    def test_a_collection_or_an_alias_of_somebody_else(self, name, named):
        target = _Aliases()
        target.created, target.named = {name: None}, named
        for call in (target.live, target.drop, lambda: target.create(SCHEMA)):
            with pytest.raises(ConfigError, match=r"found faq in .*in \?collection="):
                call()
        assert (target.created, target.named) == ({name: None}, named)

    def test_looking_for_a_missing_database_does_not_create_it(self):
        target = _Aliases()
        target.there = False
        assert target.live() is target.staged() is None
        target.drop()

    def test_an_unsuitable_name(self):
        with pytest.raises(ConfigError) as caught:
            _Aliases("FAQ")
        assert str(caught.value) == (
            "found the collection name 'FAQ'; expected letters; choose another name"
        )

    def test_the_staged_generation_is_prepared_before_readers_see_it(self):
        target, seen = _Aliases(), []
        target.create(SCHEMA)
        target.stage(SCHEMA)
        target.before_switch = lambda staged: seen.append((staged.name, target.named))
        target.switch()
        assert seen == [("faq__gem_2", "faq__gem_1")]

    def test_an_alias_of_a_collection_without_our_schema_is_of_somebody_else(self):
        target = _Aliases()
        target.created, target.named = {"faq__gem_1": None}, "faq__gem_1"
        with pytest.raises(ConfigError, match=r"found faq in .*in \?collection="):
            target.live()

    @pytest.mark.parametrize("kept", [None, TargetSchema(fingerprint="", dimension=2, token="t")])
    def test_a_server_that_loses_the_schema_keeps_no_collection(self, kept):
        target = _Aliases()
        target.schema_of = lambda name: kept if name in target.created else None
        with pytest.raises(ConfigError, match="^found an old server at my:///d"):
            target.create(SCHEMA)
        assert (target.created, target.named) == ({}, None)

    def test_a_new_generation_has_none_of_the_names_in_use(self):
        target = _Aliases()
        target.used = lambda: {"faq__gem_8", "other__gem_9"}
        assert target.create(SCHEMA).name == "faq__gem_9"

    @pytest.mark.parametrize("name", ["fxq__gem_7", "f.q__gem_07", "f.q__gem_0", "xf.q__gem_7"])
    def test_names_like_those_of_generations_are_of_somebody_else(self, name):
        target = _Aliases("f.q")
        target.created = {name: SCHEMA}
        assert target.create(SCHEMA).name == "f.q__gem_1"
        target.drop()
        assert target.created == {name: SCHEMA}
