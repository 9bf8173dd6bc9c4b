"""How texts become terms: scripts, languages, accents, and what is stored of it."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from gem_index import Home
from gem_index.errors import ConfigError
from gem_index.text.analyzer import ENGLISH, FIRST, Analyzer
from gem_index.text.chunking import Chunking
from gem_index.text.languages import LANGUAGES, STEMMERS, detect_language
from gem_index.text.tokens import search_tokens

GERMAN = [
    "Wie setze ich mein Passwort zurück, wenn ich keine E-Mail bekomme?",
    "Die Müllabfuhr kommt in München jeden Dienstag; Sperrmüll holen wir auf Bestellung ab.",
    "Der Reisepass muss vor der Reise verlängert werden, sonst wird die Einreise verweigert.",
    "Für die Anmeldung eines Hundes brauchen Sie den Ausweis und den Nachweis der Versicherung.",
    "Bibliotheken sind an Feiertagen geschlossen, die Rückgabe ist am Automaten immer möglich.",
]
CHINESE = [
    "护照过期了怎么办 需要带身份证和照片去办理。",
    "图书馆周末开放时间是上午九点到下午五点。",
    "忘记密码的时候可以通过手机号码重新设置。",
]
JAPANESE = [
    "パスポートの更新には写真と古いパスポートが必要です。",
    "図書館は月曜日に休みます。",
    "パスワードを忘れた場合は再設定してください。",
]
ENGLISH_TEXTS = [
    "How do I renew my passport before a long journey, and which papers do I have to bring along?",
    "The library is closed on holidays, but books can be returned at the machine at any time.",
    "Somebody who has forgotten a password sets a new one with the number of a mobile phone.",
    "Bulky waste is fetched on demand; ordinary waste every Tuesday before eight in the morning.",
]


class TestTerms:
    @pytest.mark.parametrize("language", ["en", "auto", "none"])
    def test_plain_words_are_as_they_were(self, language):
        for text in ENGLISH_TEXTS:
            assert Analyzer(language).tokens(text) == search_tokens(text)
        assert (ENGLISH.terms(ENGLISH_TEXTS[0]) == FIRST.terms(ENGLISH_TEXTS[0])) is True

    def test_the_first_version_knows_no_script(self):
        assert FIRST.terms("护照 café") == ["护照", "café"]

    @pytest.mark.parametrize("language", LANGUAGES)
    def test_signs_and_their_pairs(self, language):
        found = Analyzer(language).terms("我的护照")
        assert found == ["我", "的", "护", "照", "我的", "的护", "护照"]

    def test_words_beside_signs(self):
        assert ENGLISH.terms("iPhone用户") == ["iphon", "用", "户", "用户"]
        assert ENGLISH.terms("カタカナ")[-1] == "カナ"

    @pytest.mark.parametrize("word", ["สวัสดีครับ", "ສະບາຍດີທ່ານ", "សួស្តីបងប្អូន", "မင်္ဂလာပါခင်ဗျာ"])
    def test_other_scripts_without_blanks_are_grams(self, word):
        found = Analyzer("th").terms(word)
        assert len(found) == len(word) - 3
        assert all(len(term) == 4 and term in word for term in found)

    def test_short_runs_stay_whole(self):
        assert ENGLISH.terms("ครับ") == ["ครับ"]
        assert ENGLISH.terms("照") == ["照"]

    def test_syllables_of_korean_words(self):
        analyzer = Analyzer("ko")
        assert analyzer.terms("비밀번호를")[0] == "비밀번호를"
        shared = set(analyzer.terms("비밀번호를")) & set(analyzer.terms("비밀번호가"))
        assert len(shared) == 3  # pairs of 비밀번호

    def test_stems_and_parts_of_words(self):
        german = Analyzer("de")
        assert set(german.words("Häuser")) & set(german.words("Hauses"))
        compound, part = set(german.terms("Sperrmüllabfuhr")), set(german.terms("Abfuhr"))
        assert len(compound & part) >= 3
        assert not set(german.words("Sperrmüllabfuhr")) & set(german.words("Abfuhr"))

    def test_numbers_have_no_parts(self):
        assert Analyzer("de").terms("47114711") == ["47114711"]

    @pytest.mark.parametrize(
        ("language", "written", "typed"),
        [
            ("de", "München", "Munchen"),
            ("de", "München", "Muenchen"),
            ("de", "Straße", "Strasse"),
            ("en", "café", "cafe"),
            ("fr", "reçu", "recu"),
            ("mul", "Łódź", "Lodz"),
            ("el", "καφές", "καφες"),
            ("ru", "ёлка", "елка"),
            ("no", "øre", "ore"),
        ],
    )
    def test_words_are_found_without_accents(self, language, written, typed):
        analyzer = Analyzer(language)
        assert set(analyzer.words(written)) & set(analyzer.words(typed))
        for form in (written, typed):  # once, however many forms have one stem
            words = analyzer.words(form)
            assert len(words) == len(set(words))

    @pytest.mark.parametrize(("language", "text"), [("vi", "má"), ("none", "má"), ("ru", "мой")])
    def test_accents_that_make_another_word(self, language, text):
        assert len(Analyzer(language).words(text)) == 1

    def test_nothing_is_lost_or_invented(self):
        """Each token of a text is there whole, in signs or in parts, whatever its characters are."""
        draw = random.Random(4)
        letters = "abz09_ßéüñİłæ" + "护照过" + "パスの" + "비밀번" + "สวัส" + "яёй" + "كيف" + "مَ"
        for _ in range(300):
            text = "".join(draw.choices(letters + "  .-", k=draw.randrange(1, 40)))
            for language in draw.sample(LANGUAGES, 5):
                tokens = Analyzer(language).tokens(text)
                assert bool(tokens) == bool(search_tokens(text))
                assert not any(set(token) & set(" \n") or not token for token in tokens)
                held = "".join(token.strip("#_") for token in tokens)
                for token in search_tokens(text):
                    assert set(token) - set("_") <= set(held), (language, text, token)

    @pytest.mark.parametrize("language", STEMMERS)
    def test_each_stemmer_exists(self, language):
        assert Analyzer(language).terms("a bc") == ENGLISH.terms("a bc") or Analyzer(
            language
        ).terms("abc")


class TestStored:
    @pytest.mark.parametrize("analyzer", [ENGLISH, FIRST, Analyzer("de"), Analyzer("auto")])
    def test_comes_back(self, analyzer):
        assert Analyzer.of(analyzer.stored) == analyzer

    def test_old_collections_store_nothing(self):
        assert FIRST.stored == "{}"
        assert Analyzer.of("{}") == FIRST

    def test_a_later_version_is_refused(self):
        with pytest.raises(ConfigError, match="the analyzer has version 3; expected at most 2"):
            Analyzer.of('{"language": "en", "version": 3}')

    @pytest.mark.parametrize("language", ["german", "EN", "", "dee", "xx", 5])
    def test_an_unknown_language(self, language):
        with pytest.raises(
            ConfigError, match="the language is .*; expected auto, none, mul, or a code"
        ):
            Analyzer(language)

    def test_near_languages_are_named(self):
        with pytest.raises(ConfigError, match="near ones: .*de"):
            Analyzer("DE")


class TestDetection:
    @pytest.mark.parametrize(
        ("texts", "language"),
        [(GERMAN, "de"), (CHINESE, "zh"), (JAPANESE, "ja"), (ENGLISH_TEXTS * 2, "en")],
    )
    def test_of_a_few_texts(self, texts, language):
        found = detect_language(texts)
        assert (found.language, found.share) == (language, 1.0)

    @pytest.mark.parametrize(
        "texts", [[], ["", " "], ["12 34"], ["Reset Passwort"], ["hello world"]]
    )
    def test_too_little_to_tell_is_english(self, texts):
        assert detect_language(texts).language == "en"
        assert not detect_language(texts).share

    def test_a_long_text_counts_more_than_short_ones(self):
        long, short = [" ".join(GERMAN)[:300]] * 5, [" ".join(ENGLISH_TEXTS)[:100]] * 4
        found = detect_language([*short, *long])
        assert (found.language, found.share) == ("de", 1500 / 1900)

    def test_several_languages(self):
        mixed = [text for pair in zip(GERMAN * 4, CHINESE * 8, strict=False) for text in pair]
        long = [f"{text} " * 6 for text in mixed]
        assert detect_language(long).language == "mul"

    def test_long_texts_and_many_cost_no_more(self):
        taken = []

        def texts():
            for number in range(5000):
                taken.append(number)
                yield GERMAN[number % 5] * 1000

        assert detect_language(texts()).language == "de"
        assert len(taken) <= 301


def documents(texts):
    return [{"id": str(number), "text": text} for number, text in enumerate(texts)]


class TestCollections:
    def test_the_language_is_detected_from_the_first_documents(self, home):
        report = home.build("faq", documents(GERMAN))
        assert (report.language, report.language_share) == ("de", 1.0)
        collection = home.collection("faq")
        assert collection.language == collection.status().language == "de"
        again = collection.upsert(documents(ENGLISH_TEXTS * 3))
        assert (again.language, again.language_share) == ("de", None)
        assert not collection.verify()

    def test_an_empty_collection_waits_for_documents(self, home):
        collection = home.create_collection("faq")
        assert collection.language == "auto"
        assert not collection.upsert([]).documents
        assert collection.language == "auto"
        collection.upsert(documents(CHINESE))
        assert collection.language == "zh"

    @pytest.mark.parametrize("query", ["护照", "密码", "图书馆"])
    @pytest.mark.parametrize("mode", ["lexical", "hybrid"])
    def test_chinese_is_found_by_words(self, home, query, mode):
        home.build("faq", documents(CHINESE))
        best = home.collection("faq").search(query, 1, mode=mode)[0]
        assert query in best.text
        assert best.bm25 > 0

    def test_the_tail_is_analysed_alike(self, home):
        collection = home.create_collection("faq", language="de")
        collection.upsert(documents(GERMAN))
        queries = ["Muenchen", "Hund", "Verlängerung", "Müll"]
        before = [collection.search(query, 3, mode="lexical") for query in queries]
        collection.compact()
        after = [collection.search(query, 3, mode="lexical") for query in queries]
        for one, other in zip(before, after, strict=True):
            assert [hit.id for hit in one] == [hit.id for hit in other]
            assert [hit.score for hit in one] == pytest.approx(
                [hit.score for hit in other], rel=0.02
            )

    def test_another_language_is_taken_when_it_is_built_again(self, home):
        home.build("faq", documents(GERMAN), language="none")
        collection = home.collection("faq")
        assert not collection.search("Muenchen", mode="lexical")
        home.build("faq", [], language="auto")
        assert collection.language == "de"
        assert collection.search("Muenchen", 1, mode="lexical")[0].id == "1"
        assert not collection.verify()
        with pytest.raises(ConfigError, match="has the language de, found fr"):
            home.get_or_create_collection("faq", language="fr")
        assert home.get_or_create_collection("faq", language="auto").language == "de"

    def test_an_unknown_language_makes_nothing(self, home):
        with pytest.raises(ConfigError, match="the language is 'german'"):
            home.build("faq", documents(GERMAN), language="german")
        assert "faq" not in home

    def test_a_collection_of_the_first_version_keeps_it(self, home, tmp_path):
        home.build("faq", documents(GERMAN), language="en")
        with home.workspace.database.writing() as connection:
            connection.exec_driver_sql("UPDATE collections SET analysis = '{}'")
        collection = home.collection("faq")
        assert collection.verify(fix=True)[0].fixed
        collection.upsert(documents(ENGLISH_TEXTS))
        collection.refit()
        assert collection.status().analyzer == 1
        assert not collection.verify()
        home.build("faq", [], language="auto")
        assert collection.status().analyzer == 2

    @pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
    def test_an_export_keeps_it(self, home, tmp_path, suffix):
        pytest.importorskip("pyarrow") if suffix == ".parquet" else None
        home.build("faq", documents(CHINESE))
        path = tmp_path / f"faq{suffix}"
        home.collection("faq").export(path)
        other = Home(tmp_path / "other")
        restored = other.import_collection(path)
        assert restored.language == "zh"
        assert restored.search("护照", 1, mode="lexical")[0].id == "0"

    def test_why_marks_words_in_any_form(self, home):
        home.build("faq", documents(GERMAN))
        [best] = home.collection("faq").search("Reisepässe", 1, why=True)
        assert best.id == "2"
        marked = {word.token for word in best.why.second_words if word.same_word}
        assert marked == {"reisepass"}


class TestCutting:
    TEXT = "".join(CHINESE) * 40

    def test_signs_count_as_words(self):
        pieces = Chunking(60).pieces(self.TEXT)
        assert [piece.end - piece.start <= 60 for piece in pieces] == [True] * len(pieces)
        assert "".join(self.TEXT[p.start : p.end] for p in pieces) == self.TEXT
        assert len(Chunking(60, version=2).pieces(self.TEXT)) == 1
        assert len(Chunking("auto").pieces("".join(CHINESE))) == 1

    def test_overlap_in_signs(self):
        pieces = Chunking(60, overlap=20).pieces(self.TEXT)
        shared = [one.end - two.start for one, two in pairwise(pieces)]
        assert min(shared) >= 20
        assert max(shared) <= 24  # with the punctuation between signs

    def test_letters_of_thai_count_by_four(self):
        text = "สวัสดีครับ" * 100
        pieces = Chunking(50).pieces(text)
        assert max(p.end - p.start for p in pieces) <= 200
        assert len(pieces) == 5

    def test_words_between_blanks_are_counted_as_before(self):
        text = " ".join(GERMAN * 30)
        assert [Chunking(40).pieces(text)] == [Chunking(40, version=2).pieces(text)]

    def test_the_piece_with_the_words_is_shown(self, home):
        text = "".join(CHINESE[1:]) * 20 + CHINESE[0] + "".join(CHINESE[1:]) * 20
        home.build("faq", [{"id": "long", "text": text}, *documents(JAPANESE)])
        [best] = home.collection("faq").search("护照和身份证", 1)
        assert best.id == "long"
        assert "护照" in best.piece.text
        assert len(best.piece.text) <= 150


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("en", "how do I renew my residence visa", 7),
        ("none", "how do I renew my residence visa", 7),
        ("de", "wie kann ich meine Aufenthaltserlaubnis in der Stadt verlängern", 9),
        ("ar", "كيف أجدد تأشيرة الإقامة في مكتب المدينة القديمة", 8),
        ("zh", "怎么在城市办公室续签居留签证", 7),
    ],
)
def test_the_estimate_of_terms_is_near_their_number(language, text, words):
    analyzer = Analyzer(language)
    assert 0.7 < len(analyzer.tokens(text)) / (words * analyzer.terms_per_word) < 1.4
