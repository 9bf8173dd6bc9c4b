"""A home: names, models, file permissions; damage is named and repaired."""

import json
import logging
import shutil

import numpy as np
import pytest

from brute_force import TEXTS, assert_exact, documents
from gem_index import GemConfig
from gem_index.errors import (
    ConfigError,
    DuplicateIdError,
    NameTakenError,
    UnknownNameError,
)


class TestHome:
    def test_names_are_checked(self, home):
        for name in ("", "../x", "a/b", ".hidden", "x" * 65, "a b", "a+b"):
            with pytest.raises(ConfigError, match="the collection name is"):
                home.create_collection(name)

    def test_unknown_names_suggest_near_ones(self, home, faq):
        with pytest.raises(
            UnknownNameError, match="no collection is named 'fac': did you mean faq"
        ):
            home.collection("fac")
        with pytest.raises(UnknownNameError, match="no model is named 'm': there is none yet"):
            home.models.open("m")
        with pytest.raises(
            UnknownNameError, match="no vectors are named 'tinny': did you mean tiny"
        ):
            home.create_collection("x", vectors="tinny")
        assert [s.name for s in home.collections()] == ["faq"]

    @pytest.mark.parametrize(
        ("use", "near"),
        [
            (lambda home: home.vectors.export("tinny", "x.txt"), "tiny"),
            (lambda home: home.vectors.export("wordlama", "x.txt"), "wordllama"),
            (lambda home: home.vectors.describe("wordlama"), "wordllama"),
            (lambda home: home.vectors.remove("tinny"), "tiny"),
            (lambda home: home.models.remove("mime"), "mine"),
            (lambda home: home.keys.remove("shoq"), "shop"),
        ],
    )
    def test_near_names_of_what_is_there_are_suggested(self, home, faq, use, near):
        home.models.fit("mine", TEXTS, vectors="tiny")
        home.keys.add("shop")
        with pytest.raises(UnknownNameError, match=f"did you mean {near}"):
            use(home)

    def test_a_name_is_taken_once(self, home, faq, vectors_folder):
        with pytest.raises(NameTakenError, match="the collection faq exists already"):
            home.create_collection("faq")
        for name in ("tiny", "wordllama"):
            with pytest.raises(NameTakenError, match="exist already"):
                home.vectors.add(name, vectors_folder)

    def test_all_users_of_vectors_are_named(self, home, faq):
        home.create_collection("news", vectors="tiny")
        home.models.fit("m", TEXTS, vectors="tiny")
        with pytest.raises(
            NameTakenError, match="are used by collection faq, collection news, model m; expected"
        ):
            home.vectors.remove("tiny")

    def test_vectors_in_use_are_not_removed(self, home, faq):
        with pytest.raises(NameTakenError, match="used by collection faq"):
            home.vectors.remove("tiny")
        home.drop("faq")
        home.vectors.remove("tiny")
        assert not list((home.root / "vectors").iterdir())

    def test_drop_removes_everything(self, home, faq):
        faq.upsert(documents(10))
        faq.refit()
        home.drop("faq")
        assert home.collections() == []
        assert not list((home.root / "collections").iterdir())
        for use in (faq.status, lambda: faq.search("bank"), lambda: faq.upsert(documents(1))):
            with pytest.raises(UnknownNameError):
                use()
        again = home.create_collection("faq", vectors="tiny")
        assert again.search("bank") == []

    def test_models_are_kept_by_name(self, home, vectors_folder):
        encoder = home.models.fit("m", TEXTS, vectors=str(vectors_folder), config=GemConfig.cqa())
        assert home.models.open("m").fingerprint == encoder.fingerprint
        assert home.models.open("m").encode(TEXTS).tobytes() == encoder.encode(TEXTS).tobytes()
        described = home.models.describe("m")
        assert home.models.list() == [described]
        assert (described.name, described.fingerprint) == ("m", encoder.fingerprint)
        assert described.vectors == "tiny-24d"
        assert described.config == json.loads(encoder.config.to_json())
        assert (described.sentences, described.dimension) == (len(TEXTS), 24)
        with pytest.raises(NameTakenError, match="the model m exists already"):
            home.models.fit("m", TEXTS)
        other = home.models.fit("m", TEXTS[:4], overwrite=True)
        assert home.models.open("m").fingerprint == other.fingerprint
        home.vectors.remove("tiny-24d")
        home.models.remove("m")
        assert home.models.list() == []

    def test_the_same_vectors_by_path_register_once(self, home, vectors_folder):
        home.create_collection("a", vectors=str(vectors_folder))
        home.create_collection("b", vectors=str(vectors_folder))
        assert [info.name for info in home.vectors.list()] == [
            "wordllama-gem",
            "wordllama",
            "tiny-24d",
        ]
        np.save(vectors_folder / "matrix.npy", np.load(vectors_folder / "matrix.npy") * 2)
        with pytest.raises(NameTakenError, match="other vectors than"):
            home.create_collection("c", vectors=str(vectors_folder))

    @pytest.mark.parametrize("registered", [True, False])
    def test_an_error_removes_vectors_that_were_not_registered_before(
        self, home, vectors_folder, registered
    ):
        if registered:
            home.vectors.add("tiny-24d", vectors_folder)
        with pytest.raises(DuplicateIdError):
            home.build("a", [("1", "a bank"), ("1", "a river")], vectors=str(vectors_folder))
        assert ("tiny-24d" in [info.name for info in home.vectors.list()]) == registered

    def test_leftovers_of_a_killed_import_are_swept(self, home, vectors_folder):
        home.vectors.add("a", vectors_folder)
        left = home.root / "vectors" / ".b-0123.partial-99"
        left.mkdir()
        (left / "matrix.npy").write_bytes(b"half")
        home.vectors.add("b", vectors_folder)
        assert sorted(p.name[0] for p in left.parent.iterdir()) == ["a", "b"]

    def test_is_private(self, home):
        assert home.root.stat().st_mode & 0o777 == 0o700


class TestDamage:
    @pytest.fixture
    def built(self, home, faq):
        faq.upsert(documents(100))
        faq.refit()
        return home.root / "collections" / "1"

    @pytest.mark.parametrize("name", ["vectors.faiss", "ids.npy", "snapshot.json"])
    def test_is_named_searched_around_and_fixed(self, home, built, name, caplog):
        truth = {d.id: d for d in documents(100)}
        (directory,) = built.iterdir()
        path = directory / name
        path.write_bytes(path.read_bytes()[:-9])
        problems = home.verify()
        assert [(p.kind, p.fixed) for p in problems] == [("index", False)]
        assert name in problems[0].detail
        with caplog.at_level(logging.WARNING):
            assert_exact(home.collection("faq"), truth)
        assert "searching from the stored texts instead" in caplog.text
        assert [p.fixed for p in home.verify("faq", fix=True)] == [True]
        assert home.verify() == []
        assert_exact(home.collection("faq"), truth)

    def test_a_flipped_bit_is_found(self, home, built):
        (directory,) = built.iterdir()
        path = directory / "vectors.faiss"
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        assert "vectors.faiss is not what was written" in home.verify("faq")[0].detail

    def test_a_missing_directory_costs_no_document(self, home, built):
        shutil.rmtree(built)
        assert_exact(home.collection("faq"), {d.id: d for d in documents(100)})
        assert home.verify(fix=True)[0].fixed
        assert home.verify() == []

    def test_damaged_vectors_are_named(self, home, faq):
        (folder,) = (home.root / "vectors").iterdir()
        path = folder / "matrix.npy"
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        for fix in (False, True):
            (problem,) = home.verify(fix=fix)
            assert "tiny: matrix.npy is not what was written" in problem.detail
            assert not problem.fixed  # nobody but their origin has them
