"""Pushing beyond the contract of targets: URLs, errors, notes, and two pushes at once."""

import re
from contextlib import closing
from importlib.metadata import PackageNotFoundError
from types import SimpleNamespace

import numpy as np
import pytest
from filelock import FileLock

from gem_index import Document, Home
from gem_index.collection.push.embedding import embed_into
from gem_index.collection.push.sending import PushOptions
from gem_index.errors import (
    ConfigError,
    FingerprintMismatchError,
    HomeBusyError,
    InputError,
    MissingTargetError,
    TargetChangedError,
    TargetUnavailableError,
    UnknownNameError,
)
from gem_index.errors.installing import install_line
from gem_index.home.pulling import pull
from gem_index.targets import JsonObjects, TargetUrl, list_targets, open_target, registry, retries
from gem_index.targets.parquet import ParquetTable, ParquetTarget
from pushed_tables import replace_method


def build_faq(home, vectors_folder):
    documents = [Document(id=f"d{i}", text=f"a visa number {i}") for i in range(20)]
    home.build("faq", documents, vectors=str(vectors_folder), prior=0)


@pytest.fixture
def home(copied_home, small_vectors_folder):
    return copied_home(build_faq, small_vectors_folder)


@pytest.fixture
def url(tmp_path):
    return f"parquet://{tmp_path}/table"


class TestUrl:
    def test_parts(self):
        url = TargetUrl.parse(
            "Qdrant+HTTP://ann:p%40ss@db.example:6333/x%20y?collection=faq&api_key=k"
        )
        assert (url.scheme, url.host, url.path) == ("qdrant+http", "db.example:6333", "/x y")
        assert (url.user, url.password, url.option("collection")) == ("ann", "p@ss", "faq")
        assert str(url) == "qdrant+http://db.example:6333/x y?collection=faq"
        assert "p@ss" not in repr(url)
        assert "p@ss" not in repr(TargetUrl.parse("qdrant+http://h/?collection=faq&key=p@ss"))
        assert url.without_secrets().options == {"collection": "faq"}

    def test_a_short_scheme_names_the_same_table(self):
        short = TargetUrl.parse("postgres://ann@h/db?table=t")
        assert short == TargetUrl.parse("postgresql://ann@h/db?table=t")
        assert str(short) == "postgresql://h/db?table=t"

    def test_a_path_is_absolute(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert TargetUrl.parse("parquet://./a/b").path == str(tmp_path / "a/b")
        assert str(TargetUrl.parse("parquet:///a/b?table=t")) == "parquet:///a/b?table=t"

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("faq", "expected a URL such as"),
            ("", "expected a URL such as"),
            (None, "expected a URL such as"),
            ("lancedb://", "names neither a host nor a path"),
            ("lancedb:///x?a", "is not a URL"),
            ("chroma+http://u:secret@h:port/x", "is not a URL"),
        ],
    )
    def test_others_are_refused(self, text, problem):
        with pytest.raises(ConfigError, match=problem) as caught:
            TargetUrl.parse(text)
        assert "secret" not in str(caught.value)

    @pytest.mark.parametrize(
        "text",
        [
            "postgresql:ann:SeCret@host/db",
            "postgresql:/ann:SeCret@host/db",
            "postgresql://ann:SeCret/x@host/db?table=t",
            "postgresql://ann:SeCret?x@host/db",
            "postgresql://ann:SeCret#x@host/db",
            "postgresql://ann:[SeCret@host/db?table=t",
            "postgresql://ann:x@SeCret@host:port/db",
            "postgresql://host:port/db?password=SeCret",
            "postgresql://host/db?password=SeCret&table",
        ],
    )
    def test_a_malformed_url_does_not_show_its_password(self, text):
        with pytest.raises(ConfigError) as caught:
            open_target(text)
        assert "SeCret" not in str(caught.value)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("name", ["pwd", "pass", "password", "api_key", "auth", "token"])
    def test_options_that_may_be_secrets_are_not_shown(self, name):
        url = TargetUrl.parse(f"postgresql://h/db?{name}=SeCret")
        assert "SeCret" not in f"{url} {url!r}"

    def test_another_way_to_a_folder_is_the_same_target(self, tmp_path):
        (tmp_path / "link").symlink_to(tmp_path)
        assert str(TargetUrl.parse(f"parquet://{tmp_path}/link/a/../b")) == (
            f"parquet://{tmp_path}/b"
        )

    def test_options(self):
        url = TargetUrl.parse("x:///a?table=t&other=1")
        with pytest.raises(ConfigError, match="has no option 'other'; expected some of table"):
            url.check_options("table")
        with pytest.raises(ConfigError, match=r"has no collection; expected \?collection=NAME"):
            url.option("collection")

    def test_options_that_are_secrets_are_known_with_and_without_a_file(self):
        url = TargetUrl.parse("x:///a?table=t&key=k3y&key_file=f&token_file=f")
        url.check_options("table", secrets=["key", "token"])
        with pytest.raises(
            ConfigError, match="has no option 'key'; expected some of table, token$"
        ):
            url.check_options("table", secrets=["token"])
        with pytest.raises(ConfigError, match="has no option 'key'; expected some of none$"):
            url.check_options()


class TestRegistry:
    def test_what_is_installed(self):
        found = {info.scheme: info for info in list_targets()}
        assert found["parquet"].installed
        assert found["parquet"].version
        assert (found["parquet"].metadata, found["duckdb"].search) == ("any JSON", "exact")
        assert all(info.search and info.metadata and info.replacement for info in found.values())

    def test_unknown_schemes_are_named_with_near_ones(self):
        with pytest.raises(UnknownNameError, match="did you mean parquet"):
            open_target("parqet:///x")

    @staticmethod
    def no_package(name):
        raise PackageNotFoundError(name)

    def test_another_package_may_offer_a_known_scheme(self, tmp_path, monkeypatch):
        offered = {"parquet": open_target(f"parquet://{tmp_path}/a").__class__}
        found = {name: SimpleNamespace(load=lambda c=c: c) for name, c in offered.items()}
        monkeypatch.setattr(registry, "_installed", lambda: found)
        monkeypatch.setattr(registry, "distribution", self.no_package)
        assert isinstance(open_target(f"parquet://{tmp_path}/a"), ParquetTarget)

    def test_the_own_package_of_a_known_scheme_is_asked_alone(self, tmp_path, monkeypatch):
        monkeypatch.setattr(registry, "entry_points", lambda **_: 1 / 0)
        assert isinstance(open_target(f"parquet://{tmp_path}/a"), ParquetTarget)

    def test_a_missing_package_is_named(self, monkeypatch):
        monkeypatch.setattr(registry, "_installed", dict)
        monkeypatch.setattr(registry, "distribution", self.no_package)
        with pytest.raises(MissingTargetError, match=re.escape(install_line("gem-index[parquet]"))):
            open_target("parquet:///x")


def test_an_open_target_is_taken_and_stays_open(faq, url):
    target = open_target(url)
    assert faq.push(target).added == 20
    assert target.live().count() == 20
    assert faq.push(url).unchanged == 20


def test_the_report_counts_each_document_once(faq, url):
    def counts(report):
        return report.added, report.updated, report.deleted, report.unchanged, report.documents

    faq.delete([each.id for each in faq.documents()])
    faq.upsert([(str(n), f"a visa {n}") for n in range(5)])
    assert counts(faq.push(url)) == (5, 0, 0, 0, 5)
    faq.upsert([("0", "changed"), ("9", "new")])
    faq.delete(["1", "2"])
    assert counts(faq.push(url)) == (1, 1, 2, 2, 4)
    faq.delete(["3"])
    for dry_run in (True, False):
        assert counts(faq.push(url, full=True, dry_run=dry_run)) == (0, 3, 1, 0, 3)


def test_a_dry_run_changes_nothing(faq, url, tmp_path):
    report = faq.push(url, dry_run=True)
    assert (report.added, report.unchanged) == (20, 0)
    assert not (tmp_path / "table").exists()
    faq.push(url)
    faq.refit()
    faq.delete(["d1"])
    before = (tmp_path / "table/live/_table.json").read_bytes()
    assert faq.push(url, dry_run=True).deleted == 1
    assert (tmp_path / "table/live/_table.json").read_bytes() == before


def test_a_table_is_counted_when_it_is_finished(faq, url, monkeypatch):
    calls = []

    def note(name):
        whole = getattr(ParquetTable, name)

        def noted(table, *arguments):
            calls.append(name)
            return whole(table, *arguments)

        replace_method(monkeypatch, name, noted)

    for name in ("upsert", "finish", "count"):
        note(name)
    faq.push(url)
    # milvus-lite counts what was written since it was last finished ten times slower
    assert calls == ["upsert", "finish", "count"]


def test_another_number_of_rows_than_was_sent_is_an_error(faq, url, monkeypatch):
    whole = ParquetTable.count
    replace_method(monkeypatch, "count", lambda table: whole(table) - 1)
    with pytest.raises(TargetChangedError, match="the table has 19 rows after a push of 20"):
        faq.push(url)


def test_a_table_is_finished_again_when_the_database_was_away(faq, url, monkeypatch):
    whole, calls = ParquetTable.finish, []

    def away_once(table):
        calls.append(table)
        if len(calls) == 1:
            raise TargetUnavailableError(url, "restarting")
        whole(table)

    monkeypatch.setattr(retries, "FIRST_WAIT", 0.01)
    replace_method(monkeypatch, "finish", away_once)
    assert faq.push(url).added == 20
    assert len(calls) == 2


def test_progress_counts_the_documents_that_were_sent(faq, url):
    told = []
    faq.push(url, batch=8, progress=lambda *each: told.append(each))
    assert [each for each in told if each[0] == "push"] == [
        ("push", 8, 20),
        ("push", 16, 20),
        ("push", 20, 20),
    ]


def test_a_dry_run_counts_what_the_push_then_does(faq, url):
    """A push in full, or with another model, replaces what the table holds."""
    faq.push(url)
    faq.delete(["d1", "d2"])
    faq.upsert([Document(id=f"new {i}", text="a bank") for i in range(5)])
    faq.refit()
    for options in ({}, {"full": True}):
        planned = faq.push(url, dry_run=True, **options)
        done = faq.push(url, **options)
        counts = [(each.added, each.updated, each.deleted) for each in (planned, done)]
        assert counts[0] == counts[1]
    assert counts[1] == (0, 23, 0)


def test_the_next_push_completes_one_in_full(faq, url, monkeypatch):
    """What an interrupted push in full has left is used, whether the next push is one in full or not."""
    faq.push(url)
    with monkeypatch.context() as patch:
        patch.setattr(ParquetTarget, "switch", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            faq.push(url, full=True)
    staged = open_target(url).staged().schema.token
    report = faq.push(url)
    assert (report.added, report.updated, report.documents) == (0, 20, 20)
    target = open_target(url)
    assert target.staged() is None
    assert target.live().schema.token == staged
    assert faq.push(url).unchanged == 20


def test_a_dry_run_of_a_full_push_counts_everything(faq, url):
    faq.push(url)
    assert faq.push(url, full=True, dry_run=True).updated == 20
    target = open_target(url)
    target.drop()
    assert faq.push(url, full=True, dry_run=True).added == 20
    assert target.live() is None


def test_a_first_push_that_failed_may_go_on_without_texts(faq, url, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(ParquetTarget, "create", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            faq.push(url)
    faq.push(url, texts=False)
    table = open_target(url).live()
    assert not table.schema.texts
    assert table.count() == 20


def test_a_dropped_collection_forgets_its_targets(home, faq, url, vectors_folder):
    faq.push(url)
    home.drop("faq")
    home.build("faq", [Document(id="x", text="a bank")], vectors="tiny-24d", prior=0)
    with pytest.raises(TargetChangedError, match="filled by another collection, home or push"):
        home.collection("faq").push(url)
    assert home.collection("faq").push(url, full=True).added == 1


def test_texts_may_be_left_out_later(faq, url):
    faq.push(url)
    faq.push(url, texts=False)
    assert not open_target(url).live().schema.texts


def test_one_push_at_a_time(home, faq, url, monkeypatch):
    monkeypatch.setenv("GEM_INDEX_LOCK_TIMEOUT", "0.1")
    with (
        FileLock(home.root / "push.lock"),
        pytest.raises(HomeBusyError, match="another process pushes from the home"),
    ):
        Home(home.root).collection("faq").push(url)


@pytest.mark.parametrize("batch", [0, True, 1.5, 10**6])
def test_a_batch_is_bounded(faq, url, batch):
    with pytest.raises(ConfigError, match="the batch is"):
        faq.push(url, batch=batch)


def test_kept_vectors_are_not_computed_again(faq, url, monkeypatch):
    encoded = []
    original = type(faq.encoder).encode

    def encode(self, texts, **options):
        encoded.extend(texts)
        return original(self, texts, **options)

    faq.upsert([Document(id="new", text="the river bank")])
    monkeypatch.setattr(type(faq.encoder), "encode", encode)
    faq.push(url)
    assert encoded == ["the river bank"]
    found = {document.id: document.vector for document in open_target(url).live().documents()}
    texts = {document.id: document.text for document in faq.documents()}
    assert found.keys() == texts.keys()
    for identifier, text in texts.items():
        np.testing.assert_allclose(found[identifier], faq.encoder.encode([text])[0], atol=1e-6)


def test_documents_are_new_to_a_table_that_nothing_was_sent_to(faq, url, monkeypatch):
    seen = []
    original = ParquetTable.upsert

    def upsert(self, batch):
        seen.append(batch.new)
        if len(seen) == 2:
            raise KeyboardInterrupt
        original(self, batch)

    replace_method(monkeypatch, "upsert", upsert)
    with pytest.raises(KeyboardInterrupt):
        faq.push(url, batch=7)
    faq.push(url, batch=7)
    assert seen[:2] == [True, True]
    assert not any(seen[2:])  # the push that was stopped may have sent them
    faq.upsert([Document(id="new", text="a river bank")])
    faq.refit()
    del seen[2:]
    faq.push(url, batch=7)
    assert seen[2:] == [True] * 3


def test_metadata_is_checked_before_there_is_a_table(faq, url, tmp_path, monkeypatch):
    monkeypatch.setattr(
        ParquetTarget, "unsupported", lambda _, fields: [n for n in fields if n == "x"]
    )
    monkeypatch.setattr(ParquetTarget, "stores_json", lambda *_: False)
    faq.upsert([Document(id="odd", text="a river", metadata={"x": 1, "y": 2})])
    for work in (
        lambda: faq.push(url),
        lambda: faq.push(url, dry_run=True),
        lambda: embed_into(url, faq.encoder, faq.documents(), PushOptions()),
    ):
        with pytest.raises(
            ConfigError, match="cannot store the field 'x' of the document 'odd', '?1"
        ):
            work()
        assert not (tmp_path / "table").exists()
    faq.push(url, drop_unsupported=True)
    found = {document.id: document for document in open_target(url).live().documents()}
    assert found["odd"].metadata == {"y": 2}


def test_metadata_that_a_target_stores_as_json_are_not_parsed(faq, url, monkeypatch):
    faq.upsert([Document(id="m", text="a bank", metadata={"n": [1, {"a": None}]})])
    monkeypatch.setattr(ParquetTarget, "unsupported", lambda *_: 1 / 0)
    parsed = property(lambda each: 1 / 0 if '"n"' in "".join(each.texts) else [])
    monkeypatch.setattr(JsonObjects, "_parsed", parsed)
    faq.push(url)
    monkeypatch.undo()
    found = {document.id: document.metadata for document in open_target(url).live().documents()}
    assert found["m"] == {"n": [1, {"a": None}]}
    assert found["d1"] == {}


class TestPull:
    def test_texts_and_metadata_come_back(self, home, faq, url):
        faq.upsert([Document(id="m", text="a bank", metadata={"n": [1, {"a": None}]})])
        faq.push(url)
        assert pull(home, url, "again", vectors="tiny-24d").added == 21
        again = home.collection("again")
        assert {d.id: d for d in again.documents()} == {d.id: d for d in faq.documents()}

    def test_what_cannot_be_pulled(self, home, faq, url):
        with pytest.raises(ConfigError, match="there is no table at parquet"):
            pull(home, url, "again")
        faq.push(url, texts=False)
        with pytest.raises(ConfigError, match="has no texts"):
            pull(home, url, "again")
        assert "again" not in home


class TestEmbed:
    def test_ids_that_come_again_are_updates(self, faq, url):
        documents = [Document(id="a", text=f"a river {i}") for i in range(5)]
        report = embed_into(url, faq.encoder, documents, PushOptions(batch=2))
        assert (report.added, report.unchanged, report.documents) == (1, 0, 1)
        assert report.updated >= 1

    def test_documents_go_straight_into_a_table(self, faq, url):
        documents = [Document(id=str(i), text=f"the bank {i}") for i in range(10)]
        report = embed_into(url, faq.encoder, documents, PushOptions(batch=3))
        assert (report.collection, report.added, report.documents) == (None, 10, 10)
        again = embed_into(url, faq.encoder, documents[:4], PushOptions())
        assert (again.added, again.updated, again.unchanged) == (0, 4, 6)
        with closing(open_target(url)) as target:
            assert target.live().count() == 10

    def test_an_input_that_fails_leaves_nothing(self, faq, url, tmp_path):
        def documents():
            raise InputError("no such file")
            yield

        with pytest.raises(InputError):
            embed_into(url, faq.encoder, documents(), PushOptions())
        assert not (tmp_path / "table").exists()

    def test_other_tables_are_refused(self, faq, url, tmp_path):
        faq.push(url)
        with pytest.raises(ConfigError, match="is the table of a collection"):
            embed_into(url, faq.encoder, [Document(id="1", text="a")], PushOptions())
        other = f"parquet://{tmp_path}/other"
        embed_into(other, faq.encoder, [Document(id="1", text="a river")], PushOptions())
        with pytest.raises(FingerprintMismatchError, match="use the encoder it was filled with"):
            embed_into(other, faq.encoder.unfitted(), [], PushOptions())
        with pytest.raises(ConfigError, match="was made with texts"):
            embed_into(other, faq.encoder, [], PushOptions(texts=False))
