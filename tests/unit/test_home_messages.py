"""What a home says: whole messages about names, keys, word vectors, models and choices of an encoder, with their advice."""

import numpy as np
import pytest

from gem_index import Document, Home, open_provider
from gem_index.errors import (
    Action,
    ConfigError,
    FingerprintMismatchError,
    HomeNotWritableError,
    InputError,
    KeyRefusedError,
    NameTakenError,
    UnknownNameError,
)
from gem_index.home import key_library
from gem_index.home.choice import EncoderChoice
from gem_index.home.key_library import digest_of
from gem_index.home.opening import find_provider
from told import error_of
from told import told as said


def told(kind, call, *arguments, **options):
    """Return the message of an error, and the action and values of its advice."""
    error = error_of(kind, call, *arguments, **options)
    if error.advice is None:
        return str(error)
    return str(error), error.advice.action, dict(error.advice.values)


@pytest.fixture
def vectors(tmp_path):
    path = tmp_path / "my words!.txt"
    path.write_text("tea 1 0\nriver 0 1\nbank 0.6 0.8\n")
    return path


@pytest.mark.parametrize("place", ["file", "file/home"])
def test_a_home_that_cannot_be_made(tmp_path, place):
    (tmp_path / "file").write_text("not a folder")
    found = told(HomeNotWritableError, lambda: Home(tmp_path / place).collections())
    assert found == (
        f"cannot write to the home {tmp_path / place}: not a directory; expected a writable folder: "
        "choose another with Home(root) or GEM_INDEX_HOME",
        Action.CHOOSE_HOME,
        {},
    )


@pytest.mark.parametrize(
    ("work", "reports"),
    [
        (
            lambda home, tell: home.compact(progress=tell),
            [("encode", 2, 2), ("index words", 2, 2), ("encode", 5, 5), ("index words", 5, 5)],
        ),
        (
            lambda home, tell: home.compact("visas", progress=tell),
            [("encode", 5, 5), ("index words", 5, 5)],
        ),
        (
            lambda home, tell: home.verify(progress=tell),
            [("verify", 2, 2), ("verify", 5, 5)],
        ),
        (lambda home, tell: home.verify("faq", progress=tell), [("verify", 2, 2)]),
    ],
    ids=["compact all", "compact one", "verify all", "verify one"],
)
def test_the_progress_of_work_on_collections(home, faq, work, reports):
    other = home.create_collection("visas", vectors="tiny")
    for collection, count in ((faq, 3), (other, 5)):
        collection.upsert(Document(id=str(n), text=f"a visa number {n}") for n in range(count))
        collection.refit()
    faq.delete(["1"])
    told_of = []
    work(home, lambda *each: told_of.append(each))
    assert told_of == reports


def test_the_progress_of_a_backup(home, faq, tmp_path):
    faq.upsert([Document(id="a", text="a visa")])
    faq.refit()
    told_of = []
    home.backup(tmp_path / "copy", progress=lambda *each: told_of.append(each))
    total = len(told_of)
    assert told_of == [("backup", n, total) for n in range(1, total + 1)]
    assert total > 1


class TestKeys:
    def test_the_rights_of_a_maker(self, home, monkeypatch):
        keys = home.keys
        maker = digest_of(keys.add("maker", "keys"))
        keys.add("other", "keys")
        reader = digest_of(keys.add("reader", "read"))
        refused = "the key does not allow keys, or was removed; expected a key of the home that allows keys"
        for digest in (reader, digest_of("gone")):
            for call in (
                lambda d=digest: keys.add("x", maker=d),
                lambda d=digest: keys.remove("reader", maker=d),
            ):
                message, action, _ = told(KeyRefusedError, call)
                assert (message.startswith(refused), action) == (True, Action.MAKE_MAKER)
        message, action, _ = told(KeyRefusedError, keys.add, "x", "keys", maker=maker)
        assert message.startswith("a key cannot make a key that allows keys")
        assert action is Action.MAKE_MAKER
        message, action, values = told(KeyRefusedError, keys.remove, "other", maker=maker)
        assert message.startswith("the key other allows keys, and a key cannot remove such a key")
        assert (action, values) == (Action.REMOVE_MAKER, {"key": "other"})
        monkeypatch.setattr(key_library, "_MOST_MADE", 2)
        for name in ("made", "made_2"):
            keys.add(name, "admin", maker=maker)
        assert said(KeyRefusedError, keys.add, "made_3", maker=maker) == (
            "keys have made 2 keys already; expected fewer: remove some first"
        )
        assert keys.remove("maker", made=False) == ["maker"]
        again = digest_of(keys.add("again", "keys"))
        monkeypatch.setattr(key_library, "_MOST_MADE", 9)
        keys.add("mine", maker=again)
        assert keys.remove("again", made=True) == ["again", "mine"]
        assert [(each.name, each.made_by) for each in keys.list()] == [
            ("made", "maker"), ("made_2", "maker"), ("other", None), ("reader", None),
        ]  # fmt: skip

    def test_names_and_permissions(self, home):
        home.keys.add("reader")
        assert said(NameTakenError, home.keys.add, "reader") == (
            "a key is named 'reader' already; expected a new name: remove it first"
        )
        assert said(ConfigError, home.keys.add, "x", "all") == (
            "the permission is 'all'; expected read, write, admin, keys"
        )
        assert said(ConfigError, home.keys.add, "-x") == (
            "the key name is '-x'; expected 1 to 64 letters, digits, '.', '_' or '-', beginning with a letter or a digit"
        )
        message = said(UnknownNameError, home.keys.remove, "reade")
        assert message == "no key is named 'reade': did you mean reader?"


class TestVectors:
    def test_names(self, home, vectors):
        made = home.vectors.add("words", vectors, origin="a shop", licence="MIT")
        assert (made.origin, made.licence, made.words, made.dimension) == ("a shop", "MIT", 3, 2)
        for name in ("words", "wordllama"):
            assert said(NameTakenError, home.vectors.add, name, vectors) == (
                f"the vectors {name} exist already; expected a new name, or remove them first"
            )
        listed = {
            each.name: (each.format, each.origin, each.licence) for each in home.vectors.list()
        }
        assert listed["wordllama"] == ("subword", "PyPI wordllama", "MIT")
        assert home.vectors.describe("words") == made
        message = said(UnknownNameError, home.vectors.remove, "wordz")
        assert message == "no registered vectors are named 'wordz': did you mean words?"
        assert said(UnknownNameError, home.vectors.export, "wordz", vectors).startswith(
            "no vectors are named 'wordz': did you mean words"
        )

    def test_those_in_use_stay(self, home, vectors):
        home.vectors.add("words", vectors)
        home.create_collection("faq", vectors="words")
        home.models.fit("mine", ["tea river"], vectors="wordllama+words")
        assert said(NameTakenError, home.vectors.remove, "words") == (
            "the vectors words are used by collection faq, model mine; expected unused vectors: drop these users first"
        )
        home.drop("faq")
        home.models.remove("mine")
        home.vectors.remove("words")
        assert "words" not in {each.name for each in home.vectors.list()}

    def test_a_path_is_registered_under_its_name(self, home, vectors, tmp_path):
        home.create_collection("faq", vectors=str(vectors))
        assert [each.name for each in home.vectors.list() if each.words == 3] == ["my-words"]
        home.create_collection("again", vectors=str(vectors))
        vectors.write_text("tea 1 0\nriver 0 1\n")
        message, action, values = told(
            NameTakenError, home.create_collection, "b", vectors=str(vectors)
        )
        assert message.startswith(
            f"other vectors than {vectors} are registered as my-words; expected a free name"
        )
        assert (action, values) == (Action.NAME_VECTORS, {"file": str(vectors)})
        other = tmp_path / "_other.vec.txt"
        other.write_text("tea 1 0\nriver 0 1\n")
        with pytest.raises(ConfigError):
            home.create_collection("-bad", vectors=str(other))
        assert {each.name for each in home.vectors.list()} & {"other", "other.vec"} == set()

    def test_only_the_words_of_a_corpus(self, home, vectors, tmp_path):
        home.vectors.add("words", vectors, licence="MIT")
        cut = home.vectors.fit_vocabulary("cut", ["tea tea", "bank"], vectors="words")
        assert (cut.words, cut.origin, cut.licence) == (2, "words cut to 2 words", "MIT")
        both = home.vectors.fit_vocabulary("both", ["tea"], vectors="words+cut")
        assert both.licence == "MIT"
        assert home.vectors.export("cut", tmp_path / "cut.txt") == 2
        assert home.vectors.verify() == []
        home.workspace.vectors_folder.joinpath(
            *[each.name for each in home.workspace.vectors_folder.glob("cut-*")], "words.txt"
        ).write_text("x")
        [problem] = home.verify()
        assert (problem.kind, problem.detail, problem.fixed) == (
            "vectors",
            "cut: words.txt is not what was written; add it again from words cut to 2 words",
            False,
        )


class TestNames:
    def test_collections(self, home):
        home.create_collection("faq")
        for call, action, values in (
            (home.create_collection, Action.ADD_OR_DROP, {"collection": "faq"}),
        ):
            message, found, given = told(NameTakenError, call, "faq")
            assert message.startswith("the collection faq exists already; expected a new name")
            assert (found, given) == (action, values)
        assert said(UnknownNameError, home.collection, "fap") == (
            "no collection is named 'fap': did you mean faq?"
        )
        assert said(UnknownNameError, home.drop, "fap") == (
            "no collection is named 'fap': did you mean faq?"
        )
        assert [name in home for name in ("faq", "fap", "", None, 3)] == [True] + [False] * 4

    @pytest.mark.parametrize(
        ("name", "shown"),
        [
            ("", "''"),
            ("caf\udce9", r"'caf\udce9'"),
            ("a\0b", r"'a\x00b'"),
            ("y" * 200, f"'{'y' * 55}...'"),
            (7, "7"),
            (None, "None"),
        ],
    )
    def test_what_cannot_be_a_name_is_the_name_of_nothing(self, home, name, shown):
        for call in (home.collection, home.drop, lambda name: home.group([name])):
            assert said(UnknownNameError, call, name) == (
                f"no collection is named {shown}: there is none yet; make one with home.build(name, documents)"
            )
        for call in (home.models.open, home.models.describe, home.models.remove):
            assert said(UnknownNameError, call, name) == (
                f"no model is named {shown}: there is none yet; fit one with home.models.fit(name, texts)"
            )
        assert said(UnknownNameError, home.vectors.remove, name) == (
            f"no registered vectors are named {shown}: there is none yet; see home.vectors.list()"
        )
        assert said(UnknownNameError, home.keys.remove, name) == (
            f"no key is named {shown}: there is none yet; make one with home.keys.add(name)"
        )

    def test_models(self, home):
        home.models.fit("mine", ["tea"])
        before = home.models.describe("mine")
        assert before.sentences == 1
        message, action, _ = told(NameTakenError, home.models.fit, "mine", ["tea"])
        assert message.startswith("the model mine exists already; expected a new name")
        assert action is Action.OVERWRITE_MODEL
        home.models.fit("mine", ["tea", "river"], overwrite=True)
        assert [(each.name, each.sentences) for each in home.models.list()] == [("mine", 2)]
        assert said(UnknownNameError, home.models.open, "mina") == (
            "no model is named 'mina': did you mean mine?"
        )

    def test_an_imported_collection(self, home, tmp_path):
        made = home.create_collection("faq")
        made.upsert([Document(id="a", text="tea")])
        made.export(tmp_path / "faq.jsonl")
        message, action, _ = told(NameTakenError, home.import_collection, tmp_path / "faq.jsonl")
        assert message.startswith("the collection faq exists already; expected a new name")
        assert action is Action.GIVE_NAME
        assert home.import_collection(tmp_path / "faq.jsonl", "copy").name == "copy"

    def test_homes(self, tmp_path, monkeypatch):
        assert said(InputError, Home, "") == "the home is ''; expected the name of a folder"
        assert said(InputError, Home, 3) == "the home is 3; expected the name of a folder"
        message, action, _ = told(InputError, Home, tmp_path / "none", create=False)
        assert message.startswith(
            f"there is no home in {tmp_path}/none; expected the folder of a home"
        )
        assert action is Action.MAKE_HOME
        monkeypatch.chdir(tmp_path)
        home = Home("h")
        assert repr(home) == "Home('h')"
        assert home.__reduce__() == (Home, (tmp_path / "h",))


class TestGroups:
    def test_what_is_found_together(self, home):
        texts = {"a": ["tea", "a river bank", "the tea of a river"], "b": ["tea tea", "a bank"]}
        for name, own in texts.items():
            home.create_collection(name).upsert(
                [
                    Document(id=f"{name}{i}", text=text, metadata={"n": -i})
                    for i, text in enumerate(own)
                ]
            )
        group = home.group(["a", "b", "a"])
        assert group.name == "a,b"
        assert [group.compares_scores(mode) for mode in (None, "dense", "lexical")] == [
            True,
            True,
            False,
        ]
        every = group.search("tea", k=9, mode="dense")
        scores = [hit.score for hit in every]
        assert scores == sorted(scores, reverse=True)
        assert len({(hit.collection, hit.id) for hit in every}) == 5
        middle = group.search("tea", k=2, offset=1, mode="dense")
        assert [hit.id for hit in middle] == [hit.id for hit in every][1:3]
        ordered = group.search("tea", k=5, mode="dense", sort_by="n")
        assert [hit.metadata["n"] for hit in ordered] == [-2, -1, -1, 0, 0]
        ranked = group.search("tea river bank", k=9, mode="lexical")
        apart = [
            home.collection(each).search("tea river bank", k=9, mode="lexical") for each in "ab"
        ]
        expected = []
        for rank in range(max(map(len, apart))):
            of_rank = [each[rank] for each in apart if rank < len(each)]
            expected += [hit.id for hit in sorted(of_rank, key=lambda hit: -hit.score)]
        assert [hit.id for hit in ranked] == expected
        assert group.search_many([]) == []
        assert said(InputError, group.search_many, "tea") == (
            "found the text 'tea'; expected a list of queries"
        )
        assert said(InputError, home.group, []) == (
            "found no collections to search together; expected at least one"
        )


class TestChoices:
    def test_contradictions(self):
        assert said(ConfigError, EncoderChoice, model="a", collection="b") == (
            "found a model and a collection; expected one of them"
        )
        for field in ("model", "collection"):
            assert said(ConfigError, EncoderChoice, config={}, **{field: "a"}) == (
                "found a configuration beside a fitted model; expected only one of them: a model keeps the configuration of "
                "its fit"
            )
        for field in ("vectors", "model", "collection", "fingerprint", "words"):
            assert said(InputError, EncoderChoice, **{field: ""}) == (
                f"{field} is empty; expected a name, or None"
            )
        assert said(InputError, EncoderChoice, home=3) == (
            "home is 3 (int); expected a str or Path or Home"
        )
        assert said(InputError, EncoderChoice, collection=3) == (
            "collection is 3 (int); expected a str"
        )
        known = "vectors, model, collection, config, home, fingerprint, words"
        assert said(ConfigError, EncoderChoice.from_dict, {"b": 1, "a": 2}) == (
            f"found the field 'a'; expected some of {known}"
        )
        assert said(ConfigError, EncoderChoice.from_dict, [1]) == (
            f"the choice is [1]; expected a mapping of {known}"
        )

    def test_texts_and_fields(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "a").mkdir()
        (tmp_path / "a/v.txt").write_text("tea 1 0\n")
        choice = EncoderChoice(
            vectors="a/v.txt*2.0+wordllama",
            home="h",
            words="w.json",
        )
        fields = {
            "vectors": f"{tmp_path}/a/v.txt*2.0+wordllama",
            "home": f"{tmp_path}/h",
            "words": f"{tmp_path}/w.json",
        }
        assert choice.to_dict() == fields
        assert EncoderChoice.from_dict(fields) == choice
        model = EncoderChoice(model="m.safetensors", vectors="x", fingerprint="f")
        assert model.to_dict() == {
            "vectors": "x",
            "model": f"{tmp_path}/m.safetensors",
            "fingerprint": "f",
        }
        assert EncoderChoice(model="m.safetensors").vector_names == "wordllama-gem"
        assert model.vector_names == "x"
        assert list(map(str, (choice, model, EncoderChoice(), EncoderChoice(collection="c", vectors="x")))) == [
            f"the vectors {tmp_path}/a/v.txt*2.0+wordllama",
            f"the model {tmp_path}/m.safetensors",
            "the configuration",
            "the collection c",
        ]  # fmt: skip

    def test_another_fingerprint_and_other_vectors(self, home, vectors):
        home.vectors.add("words", vectors)
        home.create_collection("faq", vectors="words")
        message = said(
            FingerprintMismatchError,
            open_provider,
            collection="faq",
            home=home,
            fingerprint="f" * 64,
        )
        assert message.startswith("the data saved with the collection faq")
        assert message.endswith(
            "open it with the word vectors, configuration and fit it was saved with, or embed everything again"
        )
        mismatch = told(
            FingerprintMismatchError, open_provider, "wordllama", collection="faq", home=home
        )
        assert mismatch[1] is Action.LEAVE_OUT_VECTORS
        assert said(ConfigError, open_provider, "words, words", collection="faq", home=home) == (
            "the collection faq has 1 encoders, found 2 names of vectors; expected one for each encoder, or none"
        )
        provider = open_provider(collection="faq", home=home)
        provider.settings["home"] = "changed"
        assert provider.settings["home"] == str(home.root)

    def test_an_encoder_by_its_fingerprint(self, home, vectors):
        bundled = open_provider()
        assert find_provider(bundled.fingerprint, home).fingerprint == bundled.fingerprint
        assert said(ConfigError, find_provider, "f" * 64, home) == (
            f"found no encoder ffffffffffff in the home {home.root}; there are no encoders; expected the one that the "
            "vectors were made with: name its home, or push the collection again"
        )
        home.vectors.add("words", vectors)
        prints = {}
        for i in range(4):
            made = home.create_collection(f"c{i}", vectors=f"words*{i + 2}")
            prints[f"c{i}"] = made.encoder.fingerprint
        for i in range(2):
            prints[f"m{i}"] = home.models.fit(
                f"m{i}", ["tea river"] * (i + 1), vectors="words"
            ).fingerprint
        names = ", ".join(f"{name} {found[:12]}" for name, found in list(prints.items())[:5])
        assert said(ConfigError, find_provider, "f" * 64, home) == (
            f"found no encoder ffffffffffff in the home {home.root}; there are {names}; expected the one that the "
            "vectors were made with: name its home, or push the collection again"
        )
        for name, found in prints.items():
            settings = find_provider(found, home).settings
            assert settings.get("collection", settings.get("model")) == name
        assert np.isfinite(find_provider(prints["m1"], home).embed_query("tea")).all()
