"""Pushing beyond the contract of targets: URLs, errors, notes, and two pushes at once."""

import json

import faiss
import pyarrow.parquet
import pytest
from filelock import FileLock

from gem_index import Document, Home, TargetUrl
from gem_index.collection.embedding import embed_into
from gem_index.collection.pushing import PushOptions
from gem_index.errors import (
    ConfigError,
    FingerprintMismatchError,
    HomeBusyError,
    MissingTargetError,
    TargetChangedError,
    UnknownNameError,
)
from gem_index.home.pulling import pull
from gem_index.targets import list_targets, open_target, registry
from gem_index.targets.parquet import ParquetTarget


@pytest.fixture
def faq(home, vectors_folder):
    documents = [Document(id=f"d{i}", text=f"a visa number {i}") for i in range(20)]
    home.build("faq", documents, vectors=str(vectors_folder), prior=0)
    return home.collection("faq")


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


class TestRegistry:
    def test_what_is_installed(self):
        found = {info.scheme: info for info in list_targets()}
        assert found["parquet"].installed
        assert found["parquet"].version

    def test_unknown_schemes_are_named_with_near_ones(self):
        with pytest.raises(UnknownNameError, match="did you mean parquet"):
            open_target("parqet:///x")

    def test_a_missing_package_is_named(self, monkeypatch):
        monkeypatch.setattr(registry, "_installed", dict)
        with pytest.raises(MissingTargetError, match=r"pip install 'gem-index\[parquet\]'"):
            open_target("parquet:///x")


def test_an_open_target_is_taken_and_stays_open(faq, url):
    target = open_target(url)
    assert faq.push(target).added == 20
    assert target.live().count() == 20
    assert faq.push(url).unchanged == 20


def test_a_folder_of_others_is_left_alone(faq, tmp_path):
    (tmp_path / "table").mkdir()
    (tmp_path / "table/mine.txt").write_text("mine")
    with pytest.raises(ConfigError, match="holds other files; expected a new or empty folder"):
        faq.push(f"parquet://{tmp_path}/table")
    assert [path.name for path in (tmp_path / "table").iterdir()] == ["mine.txt"]


def test_a_file_is_not_a_folder(faq, tmp_path):
    (tmp_path / "file").write_text("mine")
    for dry_run in (True, False):
        with pytest.raises(ConfigError, match="file is a file; expected a new or empty folder"):
            faq.push(f"parquet://{tmp_path}/file", dry_run=dry_run)
    assert (tmp_path / "file").read_text() == "mine"


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


def test_a_dry_run_of_a_full_push_counts_everything(faq, url):
    faq.push(url)
    assert faq.push(url, full=True, dry_run=True).added == 20
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


def test_one_push_at_a_time(faq, url, monkeypatch):
    monkeypatch.setenv("GEM_INDEX_LOCK_TIMEOUT", "0.1")
    home = Home(faq._access.workspace.root)
    with (
        FileLock(home.root / "push.lock"),
        pytest.raises(HomeBusyError, match="another process pushes from the home"),
    ):
        home.collection("faq").push(url)


@pytest.mark.parametrize("batch", [0, True, 1.5, 10**6])
def test_a_batch_is_bounded(faq, url, batch):
    with pytest.raises(ConfigError, match="the batch is"):
        faq.push(url, batch=batch)


def test_files_are_readable_by_anybody(faq, url, tmp_path):
    faq.push(url, batch=7)
    faq.ingest([Document(id="d3", text="the river", metadata={"lang": "en"})])
    faq.push(url)
    rows = pyarrow.parquet.read_table(tmp_path / "table/live").to_pylist()
    assert sorted(row["id"] for row in rows) == sorted(f"d{i}" for i in range(20))
    (changed,) = [row for row in rows if row["id"] == "d3"]
    assert (changed["text"], json.loads(changed["metadata"])) == ("the river", {"lang": "en"})


class TestFaiss:
    """What a reader opens by the manifest."""

    def test_the_index_and_its_ids(self, faq, tmp_path):
        faq.push(f"faiss://{tmp_path}/index")
        faq.ingest([Document(id="d3", text="the river")])
        faq.delete(["d7"])
        faq.push(f"faiss://{tmp_path}/index")
        live = tmp_path / "index/live"
        names = json.loads((live / "_table.json").read_text())["index"]
        index, ids = (
            faiss.read_index(str(live / names["file"])),
            json.loads((live / names["ids"]).read_text()),
        )
        assert sorted(ids) == sorted(f"d{i}" for i in range(20) if i != 7)
        assert index.metric_type == faiss.METRIC_INNER_PRODUCT
        scores, rows = index.search(faq.encoder.encode(["the river"]), 1)
        assert ids[rows[0, 0]] == "d3"
        assert scores[0, 0] == pytest.approx(1, abs=1e-5)
        assert {path.suffix for path in live.iterdir()} == {".faiss", ".json", ".parquet"}
        assert len(list(live.glob("index-*"))) == len(list(live.glob("ids-*"))) == 1

    @pytest.mark.parametrize("factory", ["Nonsense", "", "PQ7"])
    def test_a_factory_that_faiss_does_not_know(self, faq, tmp_path, factory):
        with pytest.raises(ConfigError, match="FAISS makes no index"):
            faq.push(f"faiss://{tmp_path}/index?factory={factory}")
        assert not (tmp_path / "index").exists()


class TestPull:
    def test_texts_and_metadata_come_back(self, home, faq, url):
        faq.ingest([Document(id="m", text="a bank", metadata={"n": [1, {"a": None}]})])
        faq.push(url)
        assert pull(home, url, "again", vectors="tiny-24d").added == 21
        again = home.collection("again")
        assert {d.id: d for d in again.documents()} == {d.id: d for d in faq.documents()}

    def test_what_cannot_be_pulled(self, home, faq, url):
        with pytest.raises(ConfigError, match="there is no table at parquet"):
            pull(home, url, "again")
        faq.push(url, texts=False)
        with pytest.raises(ConfigError, match="holds no texts"):
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

    def test_other_tables_are_refused(self, faq, url, tmp_path):
        faq.push(url)
        with pytest.raises(ConfigError, match="a collection is pushed into"):
            embed_into(url, faq.encoder, [Document(id="1", text="a")], PushOptions())
        other = f"parquet://{tmp_path}/other"
        embed_into(other, faq.encoder, [Document(id="1", text="a river")], PushOptions())
        with pytest.raises(FingerprintMismatchError, match="use the encoder it was filled with"):
            embed_into(other, faq.encoder.unfitted(), [], PushOptions())
        with pytest.raises(ConfigError, match="was made with texts"):
            embed_into(other, faq.encoder, [], PushOptions(texts=False))
