"""Words of a query that no document holds are searched for by the word that is most like them."""

from __future__ import annotations

import gc
import random
import string
import tracemalloc
from pathlib import Path

import pytest

from gem_index.errors import CorruptionError
from gem_index.index.vocabulary import StoredVocabulary, Vocabulary, WordsToStore, may_be_mistyped
from gem_index.text.analyzer import ENGLISH, Analyzer
from gem_index.text.tokens import WeightedText

TEXTS = [
    "How do I reset my password?",
    "Renew a passport at the town hall",
    "Opening hours of the library",
    "The library lends accommodation guides to pensioners",
    "Libraries and archives",
]


def alignment(one: str, other: str) -> int:
    """Return the optimal string alignment distance, by its definition."""
    rows = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i in range(len(one) + 1):
        for j in range(len(other) + 1):
            if not i or not j:
                rows[i][j] = i + j
                continue
            best = min(rows[i - 1][j] + 1, rows[i][j - 1] + 1)
            best = min(best, rows[i - 1][j - 1] + (one[i - 1] != other[j - 1]))
            if i > 1 and j > 1 and one[i - 1] == other[j - 2] and one[i - 2] == other[j - 1]:
                best = min(best, rows[i - 2][j - 2] + 1)
            rows[i][j] = best
    return rows[-1][-1]


@pytest.fixture
def faq(home):
    home.build("faq", [{"id": str(i), "text": text} for i, text in enumerate(TEXTS)])
    return home.collection("faq")


LETTERS = str.maketrans(string.digits, string.ascii_lowercase[:10])


def store(words, folder, others=()):
    """Write a file of words into a folder, and return what it has stored."""
    new = WordsToStore()
    new.add(words)
    new.write(folder, others)
    return StoredVocabulary(folder)


class TestVocabulary:
    def test_near_words_are_those_of_the_definition(self):
        draw = random.Random(8)
        words = {"".join(draw.choices("abcde", k=draw.randrange(4, 12))) for _ in range(400)}
        vocabulary = Vocabulary(words)
        for _ in range(60):
            asked = "".join(draw.choices("abcde", k=draw.randrange(5, 12)))
            most = 1 if len(asked) < 9 else 2
            alike = {word: alignment(asked, word) for word in words if word[0] == asked[0]}
            assert vocabulary.near(asked) == {w: n for w, n in alike.items() if n <= most}

    @pytest.mark.parametrize(
        ("asked", "words"),
        [
            ("beadl", ["bead", "beadle", "beald", "medal"]),  # missing, added, changed places
            ("bedäl", ["bedal", "bed\u0124l", "badel"]),
            ("b\u0161d\u03a1lorem", ["b\u0221d\u03a1lorem", "b\u0161d\u0421plorem", "bacalorxm"]),
        ],
    )
    def test_near_words_of_a_file_with_any_letters(self, tmp_path, asked, words):
        """Also if two letters are counted as the same one."""
        near = {word: alignment(asked, word) for word in words[:-1]}
        assert set(near.values()) <= ({1} if len(asked) < 9 else {1, 2})
        assert store(words, tmp_path).near(asked) == near

    def test_the_shortest_word_that_may_have_two_errors_has_nine_letters(self):
        vocabulary = Vocabulary(["libraries", "passport"])
        assert vocabulary.near("lybraryes") == {"libraries": 2}
        assert vocabulary.near("pazzport") == {}
        assert vocabulary.near("pazsport") == {"passport": 1}

    def test_words_come_back_from_a_file(self, tmp_path):
        words = ["zebra", "müll", "Größe", "passport", "zeal", "ärger", "𐌰𐌱𐌲𐌳", "spaß"]
        stored = store([*words, "paß", "2024", "a" * 41], tmp_path)
        assert (tmp_path / "vocabulary.txt").read_text().split() == sorted(words)
        assert [stored.near(word) for word in words] == [{word: 0} for word in words]
        for letter in "aAnq~ö中𐎀":
            assert not any(stored.near(letter + word[1:]) for word in words)
        assert StoredVocabulary(tmp_path / "none").near("passport") == {}

    def test_a_stored_vocabulary_has_the_near_words_of_one_in_memory(self, tmp_path):
        draw = random.Random(9)
        words = {"".join(draw.choices("abcdeäß", k=draw.randrange(4, 12))) for _ in range(3000)}
        stored, whole = store(words, tmp_path), Vocabulary(words)
        assert all(stored.near(word)[word] == 0 for word in words)
        for asked in sorted(words)[::100]:
            assert stored.near(asked) == whole.near(asked)

    @pytest.mark.parametrize("count", [0, 1, 2, 3])
    def test_any_number_of_words_can_be_stored(self, tmp_path, count):
        words = ["alpha", "beta", "gamma"][:count]
        stored = store(words, tmp_path)
        assert [stored.near(word) for word in words] == [{word: 0} for word in words]
        assert stored.near("gamme") == ({"gamma": 1} if count == 3 else {})

    def test_new_words_join_stored_ones(self, tmp_path):
        for name, words in (("old", ["beta", "gamma"]), ("older", ["alpha", "beta"])):
            (tmp_path / name).mkdir()
            store(words, tmp_path / name)
        folders = [tmp_path / name for name in ("old", "older", "without words")]
        store(["bravo", "gamma", "delta"], tmp_path, folders)
        expected = "alpha\nbeta\nbravo\ndelta\ngamma\n"
        assert (tmp_path / "vocabulary.txt").read_text() == expected

    def test_more_words_than_a_run_holds(self, tmp_path, monkeypatch):
        monkeypatch.setattr("gem_index.index.vocabulary._RUN", 20)
        draw = random.Random(10)
        texts = [
            ["".join(draw.choices("abc", k=draw.randrange(3, 6))) for _ in range(7)]
            for _ in range(60)
        ]
        new = WordsToStore()
        for words in texts:
            new.add(words)
        new.write(tmp_path)
        kept = {word for words in texts for word in words if len(word) > 3}
        assert (tmp_path / "vocabulary.txt").read_text() == "".join(f"{w}\n" for w in sorted(kept))

    def test_many_words_take_little_memory(self, tmp_path):
        new = WordsToStore()
        tracemalloc.start()
        try:
            for place in range(120):  # a set of these 120,000 words takes 10 MB
                new.add(f"{place:03}{each:03}".translate(LETTERS) for each in range(1000))
            new.write(tmp_path)
            assert tracemalloc.get_traced_memory()[1] < 5e6
        finally:
            tracemalloc.stop()
        assert len((tmp_path / "vocabulary.txt").read_text().split()) == 120_000

    def test_the_file_is_closed_with_the_last_use(self, tmp_path):
        stored = store(["alpha", "beta"], tmp_path)
        path = str(tmp_path / "vocabulary.txt")
        assert [stored.near(word) for word in ("bete", "betaa", "bete")] == [{"beta": 1}] * 3
        assert path in Path("/proc/self/maps").read_text()
        gc.disable()  # a cycle of references would keep the file open until the next collection
        try:
            del stored
            assert path not in Path("/proc/self/maps").read_text()
        finally:
            gc.enable()

    def test_the_file_may_be_removed(self, tmp_path):
        stored = store(["alpha", "beta"], tmp_path)
        (tmp_path / "vocabulary.txt").unlink()
        assert stored.near("betta") == {"beta": 1}

    @pytest.mark.parametrize(
        "data", [b"beta\nalpha\nbeta\n", b"beta", b"\n\n", b"b\n\xff\n", b"\xff\xff"]
    )
    def test_a_damaged_file_ends(self, tmp_path, data):
        (tmp_path / "vocabulary.txt").write_bytes(data)
        stored = StoredVocabulary(tmp_path)
        assert stored.near("quay") == {}
        assert stored.near("betta") in ({}, {"beta": 1})

    @pytest.mark.parametrize(
        ("word", "language", "may"),
        [
            ("pasword", "en", True),
            ("word", "en", False),
            ("passw0rd", "en", False),
            ("would", "en", False),  # frequent
            ("would", "de", True),
            ("pasword", "none", False),
            ("护照过期了怎么办", "zh", False),
            ("x" * 40, "en", True),
            ("x" * 41, "en", False),
        ],
    )
    def test_which_words_are_corrected(self, word, language, may):
        assert may_be_mistyped(word, Analyzer(language)) is may


class TestSearch:
    @pytest.mark.parametrize("mode", ["hybrid", "lexical"])
    @pytest.mark.parametrize("rerank", [False, True])
    @pytest.mark.parametrize("where", ["files", "tail"])
    def test_a_mistyped_word_finds_what_the_word_finds(self, home, mode, rerank, where):
        documents = [{"id": str(i), "text": text} for i, text in enumerate(TEXTS)]
        if where == "files":
            home.build("faq", documents)
            faq = home.collection("faq")
        else:
            faq = home.create_collection("faq")
            faq.upsert(documents)
        options = {"mode": mode, "rerank": rerank}
        typed = faq.search("Reset my Pasword!", **options)
        meant = faq.search("Reset my password!", **options)
        assert typed.corrected == {"pasword": "password"}
        assert meant.corrected == {}
        assert [(hit.id, hit.score) for hit in typed] == [(hit.id, hit.score) for hit in meant]

    def test_of_several_near_words_the_nearest_then_the_most_frequent(self, faq):
        faq.upsert([{"id": "a", "text": "passpord"}])
        assert faq.search("passporz").corrected == {"passporz": "passpord"}  # by the alphabet
        faq.upsert([{"id": "b", "text": "passport at sea"}, {"id": "c", "text": "two passports"}])
        assert faq.search("passporz").corrected == {"passporz": "passport"}
        faq.compact()
        assert faq.search("passporz").corrected == {"passporz": "passport"}
        assert faq.search("passpordd").corrected == {"passpordd": "passpord"}  # nearer

    def test_words_in_another_form_are_held(self, faq):
        assert not faq.search("passports").corrected

    def test_long_words_may_have_two_errors(self, faq):
        assert faq.search("acomodation").corrected == {"acomodation": "accommodation"}
        assert not faq.search("lybrory").corrected

    def test_nothing_is_corrected_where_it_is_not_asked_for(self, faq):
        assert not faq.search("pasword", correct=False).corrected
        assert not faq.search("pasword", mode="dense").corrected
        assert not faq.search(
            faq.encoder.encode(["pasword"])[0], fingerprint=faq.encoder.fingerprint
        ).corrected
        assert not faq.search(WeightedText("pasword", [(7, 2.0)])).corrected
        plain = faq.search("pasword", mode="lexical", correct=False)
        assert not plain

    def test_each_of_many_queries_has_its_own(self, faq):
        found = faq.search_many(["pasword", "library", "libary pasport"], 2)
        assert [dict(hits.corrected) for hits in found] == [
            {"pasword": "password"},
            {},
            {"libary": "library", "pasport": "passport"},
        ]

    def test_words_that_no_document_holds_any_more_are_no_correction(self, faq):
        faq.delete(["0"])
        faq.compact()
        assert faq.search("pasword").corrected == {}

    def test_a_damaged_vocabulary_is_told_and_mended(self, faq, home):
        [path] = home.root.rglob("vocabulary.txt")
        path.write_bytes(b"\xff" * path.stat().st_size)
        other = type(home)(home.root).collection("faq")
        assert other.search("pasword").corrected == {}
        assert any("vocabulary.txt" in problem.detail for problem in other.verify(fix=True))
        assert other.search("pasword").corrected == {"pasword": "password"}

    def test_index_files_of_an_earlier_version_have_none(self, faq, home):
        [path] = home.root.rglob("vocabulary.txt")
        text = path.read_text()
        assert "password\n" in text
        assert StoredVocabulary(path.parent.parent).near("pasword") == {}

    def test_time_grows_with_the_query(self, faq):
        draw = random.Random(2)
        made = " ".join("".join(draw.choices(string.ascii_lowercase, k=8)) for _ in range(2000))
        assert faq.search(made, 1).corrected.keys() <= set(made.split())


def test_a_reading_error_is_a_corruption(tmp_path):
    import numpy as np

    from gem_index.index.lexical import LexicalIndex

    LexicalIndex.write(tmp_path / "w", [(np.array([1]), ["a password"])], ENGLISH)
    (tmp_path / "w" / "vocabulary.txt").write_bytes(b"pa\xff\xfe\n")
    with pytest.raises(CorruptionError, match="cannot be read"):
        LexicalIndex.open(tmp_path / "w").near("pasword")
