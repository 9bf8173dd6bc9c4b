"""A home's names and choices at their edges: which vectors a name means, what a choice refuses, what a pull passes on."""

import hashlib
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save_file

from gem_index import GemConfig, Home, open_provider, open_vectors
from gem_index.errors import (
    ConfigError,
    DiskError,
    FingerprintMismatchError,
    InputError,
    NameTakenError,
    UnknownNameError,
)
from gem_index.gem.specification import encoder_specs
from gem_index.home import EncoderChoice, pulling
from gem_index.home.key_library import digest_of
from gem_index.home.pulling import pull, table_rows
from gem_index.home.registration import register_paths
from gem_index.vectors.options import SourceOptions
from told import told

TEXTS = ["open a bank account", "the river bank", "renew my visa"]


class TestChoices:
    @pytest.mark.parametrize(
        "config",
        [
            {"windows": 3},
            {"encoders": [{"vectors": "wordllama"}, {"vectors": "wordllama", "config": {"window": -1}}]},
            "best",
            7,
        ],
    )  # fmt: skip
    def test_a_wrong_configuration_is_refused_before_anything_is_opened(self, config):
        told(ConfigError, EncoderChoice, config=config)

    def test_a_wrong_kind_is_shown_in_bounded_length(self):
        assert told(InputError, EncoderChoice, vectors=["x" * 200]) == (
            f"vectors is ['{'x' * 58} (list); expected a str or Path"
        )

    def test_a_language_of_words_is_checked_at_once(self):
        assert EncoderChoice(words="de").words == "de"
        assert "klingon" in told(ConfigError, EncoderChoice, words="klingon")

    def test_another_fingerprint_is_that_of_an_encoder(self):
        with pytest.raises(FingerprintMismatchError) as refused:
            open_provider(fingerprint="0" * 64)
        assert refused.value.kind == "encoder"

    def test_a_fit_after_opening_is_told_in_whole(self):
        provider = open_provider()
        provider.encoder.fit(TEXTS)
        assert told(ConfigError, lambda: provider.settings) == (
            "this provider's encoder was fitted after it was opened, and that fit has no name; expected a saved encoder: "
            "encoder.save('model.safetensors'), then open_provider(model='model.safetensors')"
        )

    def test_settings_belong_to_the_caller(self):
        config = {"encoders": [{"vectors": "wordllama"}, {"vectors": "wordllama", "weight": 0.5}]}
        provider = open_provider(config=config)
        provider.settings["config"]["encoders"].clear()
        assert [each["weight"] for each in provider.settings["config"]["encoders"]] == [1.0, 0.5]
        assert open_provider(**provider.settings).fingerprint == provider.fingerprint

    def test_the_mode_of_reranking_is_told_in_whole(self):
        assert told(InputError, open_provider().rerank, "a", TEXTS, mode="words") == (
            "found the mode 'words'; expected dense or hybrid"
        )


class TestNames:
    @pytest.fixture
    def named(self, home, vectors_folder, tmp_path, monkeypatch):
        """A home with the vectors mine, beside a file that is called mine."""
        home.vectors.add("mine", vectors_folder)
        monkeypatch.chdir(tmp_path)
        (tmp_path / "mine").write_text("tea 1 0 0\nbank 0 1 0\n")
        return home

    def test_a_registered_name_comes_before_a_file(self, named):
        for where in (named, str(named.root), named.root):
            assert open_provider("mine", home=where).dimension == 24
        assert open_vectors("mine", named).dimension == 24
        assert open_vectors("./mine", named).dimension == 3
        assert open_provider("./mine", home="nowhere").dimension == 3

    def test_a_home_is_asked_for_if_one_of_several_names_needs_it(self, named, tmp_path):
        message = told(InputError, open_provider, "wordllama+other", home="nowhere")
        assert message.startswith(f"there is no home in {tmp_path}/nowhere; expected the folder")
        told(UnknownNameError, open_provider, "wordllama+other", home=named)

    @pytest.mark.parametrize(
        ("file", "name"),
        [
            ("_my words_.txt", "my-words"),
            ("v.50d.vec.gz", "v.50d"),
            ("...w.bin.txt", "w"),
            ("s.safetensors", "s"),
            ("n.npy", "n"),
        ],
    )
    def test_the_name_of_a_file(self, home, tmp_path, file, name):
        path = tmp_path / "files" / file
        path.parent.mkdir()
        rows = np.eye(2, dtype=np.float32)
        (path.parent / "words.txt").write_text("tea\nbank\n")
        if file.endswith("safetensors"):
            save_file({"v": rows}, path)
        elif file.endswith("npy"):
            np.save(path, rows)
        elif file.endswith("gz"):
            import gzip

            path.write_bytes(gzip.compress(b"2 2\ntea 1 0\nbank 0 1\n"))
        else:
            path.write_text("tea 1 0\nbank 0 1\n")
        home.create_collection("faq", vectors=str(path))
        assert [each.name for each in home.vectors.list()][2:] == [name]
        assert home.collection("faq").status().vectors == name

    def test_a_file_with_the_name_of_bundled_vectors(self, home, tmp_path):
        path = tmp_path / "wordllama.txt"
        path.write_text("tea 1 0\n")
        message = told(NameTakenError, home.create_collection, "faq", vectors=str(path))
        assert message.startswith(
            f"other vectors than {path} are registered as wordllama; expected a free name"
        )

    def test_a_wrong_name_of_a_model_reads_no_text(self, home):
        def texts():
            raise AssertionError("they are read")
            yield

        told(ConfigError, home.models.fit, "a b", texts())


class TestRegistration:
    """Vectors that were registered for a work that fails are removed, unless something uses them."""

    @pytest.fixture
    def specs(self, tmp_path):
        (tmp_path / "words.txt").write_text("tea 1 0\n")
        return encoder_specs(str(tmp_path / "words.txt"), None, "wordllama")

    def failing(self, home, specs, work):
        with register_paths(home.workspace, home.vectors, specs) as named:
            assert [str(each.vectors) for each in named] == ["words"]
            work()
            raise RuntimeError("it failed")

    @pytest.mark.parametrize("used", [False, True])
    def test_after_an_error(self, home, specs, used):
        def work():
            if used:
                home.create_collection("other", vectors="words")

        with pytest.raises(RuntimeError, match="^it failed$") as raised:
            self.failing(home, specs, work)
        assert not getattr(raised.value, "__notes__", [])
        assert ("words" in {each.name for each in home.vectors.list()}) is used

    def test_what_cannot_be_removed_is_noted(self, home, specs, monkeypatch):
        def refuse(name):
            raise DiskError("the disk is full")

        monkeypatch.setattr(home.vectors, "remove", refuse)
        with pytest.raises(RuntimeError) as raised:
            self.failing(home, specs, lambda: None)
        assert raised.value.__notes__ == ["the vectors words were not removed: the disk is full"]


def test_a_key_is_shown_once_and_stored_as_its_hash(home):
    key = home.keys.add("shop", "write")
    assert re.fullmatch(r"gem-[\w-]{43}", key)
    [stored] = home.keys.list()
    assert (stored.name, stored.permission, stored.made_by) == ("shop", "write", None)
    assert stored.digest == digest_of(key) == hashlib.sha256(key.encode()).digest()
    assert digest_of("caf\udce9") == hashlib.sha256(b"caf\xed\xb3\xa9").digest()


class TestVocabularies:
    @pytest.fixture
    def words(self, home, tmp_path):
        for name, licence in (("one", "PDDL"), ("two", "MIT"), ("three", None)):
            path = tmp_path / f"{name}.txt"
            path.write_text("Tea 1 0\nbank 0 1\n")
            options = SourceOptions(case="fallback") if name == "one" else None
            home.vectors.add(name, path, licence=licence, options=options)
        return home.vectors

    @pytest.mark.parametrize(
        ("vectors", "licence"),
        [("two+one", "MIT and PDDL"), ("three", "unknown"), ("one*0.5+one", "PDDL")],
    )
    def test_the_licences_of_all_parts(self, words, vectors, licence):
        info = words.fit_vocabulary("cut", ["bank"], vectors=vectors)
        assert (info.licence, info.origin) == (licence, f"{vectors} cut to 1 words")

    def test_of_a_file_the_licence_is_not_known(self, words, tmp_path):
        info = words.fit_vocabulary("cut", ["bank"], vectors=str(tmp_path / "one.txt"))
        assert info.licence == "unknown"

    def test_letters_are_changed_as_before(self, words):
        assert words.fit_vocabulary("a", ["tea"], vectors="one").options == {"case": "fallback"}
        lower = SourceOptions(case="lower")
        given = words.fit_vocabulary("b", ["tea"], vectors="one", options=lower)
        assert given.options == {"case": "lower"}
        assert words.fit_vocabulary("c", ["bank"], vectors="two").options == {}

    @pytest.mark.parametrize("texts", ["tea", ["tea", 7], [None]])
    def test_what_is_no_text_is_refused(self, words, texts):
        told(InputError, words.fit_vocabulary, "cut", texts, vectors="one")

    def test_one_string_is_not_read_letter_by_letter(self, words, tmp_path):
        (tmp_path / "letters.txt").write_text("t 1 0\ne 0 1\n")
        message = told(
            InputError, words.fit_vocabulary, "cut", "tea", vectors=str(tmp_path / "letters.txt")
        )
        assert message.startswith("found one string")

    def test_progress(self, words, tmp_path):
        stages = []
        words.fit_vocabulary(
            "cut", ["bank tea"], vectors="one", progress=lambda *each: stages.append(each)
        )
        assert stages == [("words", 2, 2)]


READING = {"id_field": "nr", "text_fields": ["body"], "clean": ["html"]}


class TestPulls:
    @pytest.fixture
    def url(self, tmp_path):
        (tmp_path / "theirs").mkdir()
        rows = [{"nr": 7, "body": "<p>renew a visa</p>"}, {"nr": 8, "body": "open a bank"}]
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "theirs/a.parquet")
        return f"parquet://{tmp_path}/theirs"

    def test_what_is_passed_on_and_remembered(self, home, url, vectors_folder):
        home.vectors.add("tiny", vectors_folder)
        stages = []
        report = pull(
            home, url, "mine", reading=READING, vectors="tiny", config=GemConfig(n_removed=1),
            progress=lambda *each: stages.append(each),
        )  # fmt: skip
        assert (report.added, report.documents) == (2, 2)
        collection = home.collection("mine")
        assert collection.status().vectors == "tiny"
        assert collection.encoder.config.n_removed == 1
        assert "store" in {stage for stage, _, _ in stages}
        assert [each.text for each in collection.documents()] == ["renew a visa", "open a bank"]
        assert pull(home, url, "mine").unchanged == 2

    def test_a_target_is_closed(self, home, url, monkeypatch):
        closed = []
        opened = pulling.open_target

        def noted(url):
            target = opened(url)
            close = target.close
            monkeypatch.setattr(target, "close", lambda: closed.append(1) or close(), raising=False)
            return target

        monkeypatch.setattr(pulling, "open_target", noted)
        pull(home, url, "mine", reading=READING)
        with pytest.raises(InputError):
            pull(home, url, "other", reading={"id_field": "nothing"})
        with table_rows(url, **READING) as rows:
            assert len(list(rows)) == 2
        assert closed == [1] * 3

    def test_tables_of_gem_index(self, home, url, tmp_path):
        pull(home, url, "mine", reading=READING)
        own, without = f"parquet://{tmp_path}/own", f"parquet://{tmp_path}/without"
        home.collection("mine").push(own)
        home.collection("mine").push(without, texts=False)
        for reading in ({"clean": ["html"]}, {"text_fields": ["text"]}, {"id_field": "id"}):
            assert told(ConfigError, pull, home, own, "again", reading=reading) == (
                f"gem-index created the table {own}, with id, text and metadata; expected no names of fields and no cleaning"
            )
        assert told(ConfigError, pull, home, without, "again") == (
            f"the target {without} has no texts; expected a table of a push that stores texts"
        )
        assert pull(home, own, "again").added == 2
        found = [(each.id, each.text) for each in Home(home.root).collection("again").documents()]
        assert found == [("7", "renew a visa"), ("8", "open a bank")]
