"""Results, explanations and matches, as they are printed: whole lines, of results that are made by hand."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gem_index.gem.combined import CombinedExplanation
from gem_index.gem.explanation import Explanation, WordWeight
from gem_index.gem.matches import MatchedPair, MatchedWord, MatchExplanation
from gem_index_cli.result_output import (
    Printed,
    print_explanation,
    print_match,
    print_results,
    print_used_words,
    result_row,
    used_words,
)


@pytest.fixture
def printed(capsys, monkeypatch):
    """Return what a function prints on a terminal of 60 columns."""
    monkeypatch.setenv("COLUMNS", "60")

    def lines(function, *arguments, **options):
        capsys.readouterr()
        function(*arguments, **options)
        return [line.rstrip() for line in capsys.readouterr().out.splitlines()]

    return lines


def result(name="a", score=0.5, text="a text", **others):
    return SimpleNamespace(id=name, score=score, text=text, metadata={}, **others)


def match(first, second, shares, cosine, same=()):
    """Return a match of two texts with the shares of pairs of their words, by the numbers of the words."""
    texts = []
    for text in (first, second):
        words, begin = [], 0
        for place, word in enumerate(text.split()):
            begin = text.index(word, begin)
            side = len(texts)
            share = sum(each for pair, each in shares.items() if pair[side] == place)
            words.append(MatchedWord(word.lower(), begin, begin + len(word), share, word in same))
            begin += len(word)
        texts.append(tuple(words))
    pairs = [MatchedPair(*pair, share) for pair, share in shares.items()]
    pairs.sort(key=lambda pair: -pair.share)
    return MatchExplanation(first, second, "", cosine, *texts, tuple(pairs))


class TestResults:
    def test_ids_stand_in_a_column_up_to_28_characters(self, printed):
        results = [
            result("a", 0.98765, "the first"),
            result("b" * 28, -0.5, "the  second\n\ntext"),
            result("c" * 29, 12.5, "the third"),
        ]
        assert printed(print_results, results, Printed(first=9), "what was\x1b asked") == [
            r"what was\x1b asked",
            f"  9   0.988  a{' ' * 27}  the first",
            f" 10  -0.500  {'b' * 28}  the second text"[:60],
            f" 11  12.500  {'c' * 29}",
            "             the third",
        ]
        assert printed(print_results, [], None, "asked") == ["asked", "Nothing was found."]
        assert printed(print_results, [result(None, text="x")]) == ["  1   0.500  x"]

    def test_weak_results_are_marked(self, printed):
        one, other = result("a", weak=True), result("b", weak=False)
        assert printed(print_results, [one, other], Printed(first=4)) == [
            "  4   0.500  weak  a  a text",
            "  5   0.500        b  a text",
        ]
        assert printed(print_results, [one, one]) == [
            "All results are weak: perhaps no document answers this.",
            "  1   0.500  weak  a  a text",
            "  2   0.500  weak  a  a text",
        ]
        assert printed(print_results, [other, other])[0] == "  1   0.500  b  a text"

    def test_what_stands_below_a_result(self, printed):
        piece = SimpleNamespace(text="the piece", heading="Guide > Visas", page=2, hits=3)
        found = result("a", collection="faq", piece=piece, similar=("x", "y\x07"))
        found.metadata.update({"year": 2020, "topic": "bänk\x07\x7f", "other": 1})
        assert printed(print_results, [found], Printed(fields=("topic", "none", "year"))) == [
            "  1   0.500  faq/a  the piece",
            "             Guide > Visas, page 2, 3 pieces",
            r'             topic: "bänk\u0007\x7f", year: 2020',
            r"             similar: x, y\x07",
        ]
        piece.page, piece.hits = None, 1
        assert printed(print_results, [found])[1] == "             Guide > Visas"
        piece.heading = ""
        found.similar, found.passage = (), SimpleNamespace(text="the passage")
        assert printed(print_results, [found]) == ["  1   0.500  faq/a  the passage"]

    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("x" * 44, "x" * 44),
            ("x" * 45, "x" * 43 + "…"),
            ("x " * 90, ("x " * 22)[:43] + "…"),
            ("x" + " " * 200 + "y", "x…"),
            ("护" * 22, "护" * 22),
            ("护" * 23, "护" * 21 + "…"),
        ],
    )
    def test_a_text_fills_its_line(self, printed, text, shown):
        [line] = printed(print_results, [result("a", text=text)])
        assert line == f"  1   0.500  a  {shown}"


class TestWhy:
    TEXT = "Renew the visa visa"
    SHARES = {(0, 0): 0.4, (1, 2): 0.2, (1, 3): 0.1, (0, 1): 0.004, (1, 1): -0.1}  # noqa: RUF012

    def told(self, printed, score, meaning):
        why = match("renew visa", self.TEXT, self.SHARES, 0.7)
        lines = printed(
            print_results, [result("a", score, self.TEXT, why=why)], Printed(meaning=meaning)
        )
        assert lines[0] == f"  1  {score:6.3f}  a  Renew the visa visa"
        return lines[1].strip()

    def test_pairs_that_come_again_are_counted_once(self, printed):
        assert self.told(printed, 0.7, None) == "renew ~ renew 0.400, visa ~ visa 0.300"

    def test_the_parts_add_up_to_the_score(self, printed):
        assert (
            self.told(printed, 0.35, 0.5) == "renew ~ renew 0.200, visa ~ visa 0.150, others 0.000"
        )
        assert (
            self.told(printed, 0.3504, 0.5)
            == "renew ~ renew 0.200, visa ~ visa 0.150, others 0.000"
        )
        assert self.told(printed, 0.6, 0.5) == (
            "meaning 0.350 (renew ~ renew 0.200, visa ~ visa 0.150, others 0.000) + words 0.250"
        )

    def test_four_pairs_are_shown_and_those_that_can_be_seen(self, printed):
        shares = {(i, i): share for i, share in enumerate((0.3, 0.2, 0.1, 0.01, 0.005, 0.0049))}
        words = "a b c d e f"
        why = match(words, words, shares, 0.6)
        [_, line] = printed(print_results, [result(text=words, why=why)])
        assert line.strip() == "a ~ a 0.300, b ~ b 0.200, c ~ c 0.100, d ~ d 0.010"
        why = match("a b", "a b", {(0, 0): 0.0049, (1, 1): 0.005}, 0.01)
        assert printed(print_results, [result(text="a b", why=why)])[1].strip() == "b ~ b 0.005"
        why = match("a b", "a b", {(0, 0): 0.0049, (1, 1): -0.5}, 0.01)
        assert printed(print_results, [result(text="a b", why=why)])[1].strip() == (
            "no word adds to the cosine"
        )

    def test_without_it_only_the_best_part_is_shown(self, printed):
        text = f"{'filler ' * 20}renew the visa {'other ' * 20}"
        words = text.split()
        shares = {(0, words.index("renew")): 0.4, (1, words.index("visa")): 0.3}
        why = match("renew visa", text, shares, 0.7)
        [line] = printed(print_results, [result(text=text, why=why)], Printed(why=False))
        assert line.startswith("  1   0.500  a  …")
        assert "renew the visa" in line
        assert line.endswith("…")
        assert len(line) <= 60

    @pytest.mark.parametrize(
        ("shares", "shown"),
        [
            (
                (0.1, 0.1, 0.1, 0.1, 0, 0, 0),
                "aaaaaaaaaa bbbbbbbbbb cccccccccc…",
            ),  # the first of equal parts
            ((0.4, 0.4, 0.4, -1, 0.1, 0.1, 0.1), "aaaaaaaaaa bbbbbbbbbb cccccccccc…"),
            ((0, 0, 0.1, 0.1, 0.2, 0, 0), "…cccccccccc dddddddddd eeeeeeeeee…"),
            ((0, 0, 0, 0, 0.1, 0.1, 0.2), "…eeeeeeeeee ffffffffff gggggggggg"),
        ],
    )
    def test_the_best_part_has_the_words_that_add_most(self, printed, shares, shown):
        text = " ".join(letter * 10 for letter in "abcdefg")
        why = match("x", text, {(0, place): share for place, share in enumerate(shares)}, 0.5)
        assert printed(print_results, [result(text=text, why=why)], Printed(why=False)) == [
            f"  1   0.500  a  {shown}"
        ]

    def test_words_that_match_are_bold(self, printed, monkeypatch):
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm")
        text = "visa fees rise again today"
        shares = {(0, 0): 0.4, (0, 1): 0.1, (0, 2): 0.09, (0, 3): 0.005, (0, 4): 0.004}
        why = match("x", text, shares, 0.6, same=("again", "today"))
        [line] = printed(print_results, [result(text=text, why=why)], Printed(why=False))
        assert line.removeprefix("  1   0.500  a  ") == (
            "\x1b[1mvisa\x1b[0m \x1b[1mfees\x1b[0m rise \x1b[1magain\x1b[0m today"
        )

    def test_the_piece_is_compared_if_there_is_one(self, printed):
        piece = SimpleNamespace(text="a visa", heading="", page=None, hits=1)
        why = match("visa", "a visa", {(0, 1): 0.5}, 0.5)
        found = result(text="another text, and a visa", piece=piece, why=why)
        assert printed(print_results, [found], Printed(why=False)) == ["  1   0.500  a  a visa"]


def weight(token, share, known=True, **scores):
    given = {"alpha_n": 0.1, "alpha_s": 0.2, "alpha_u": 0.3, "alpha": 0.6} | scores
    return WordWeight(token=token, known=known, share=share, **given)


class TestExplanations:
    def test_each_word_has_its_share_as_a_bar_and_its_weights(self, printed, monkeypatch):
        monkeypatch.setenv("COLUMNS", "100")
        words = (
            weight("visa", 0.8),
            weight("zxq", 0.4, known=False),
            weight("the", -0.2, alpha=0.25),
        )
        lines = printed(print_explanation, Explanation("", "", words))
        assert lines == [
            "",
            "  word             share              novelty   significance   uniqueness   weight",
            f" {'─' * 82}",
            "  visa             0.800 ██████████     0.100          0.200        0.300    0.600",
            "  zxq (unknown)    0.400 █████          0.100          0.200        0.300    0.600",
            "  the             -0.200                0.100          0.200        0.300    0.250",
            "",
        ]

    def test_without_words(self, printed):
        assert printed(print_explanation, Explanation("", "", ())) == [
            "No words: the vector is zero."
        ]

    def test_encoders_side_by_side_are_told_one_after_another(self, printed):
        explained = [
            SimpleNamespace(weight=1.0, explanation=Explanation("", "", ())),
            SimpleNamespace(weight=0.25, explanation=Explanation("", "", ())),
        ]
        both = CombinedExplanation.__new__(CombinedExplanation)
        object.__setattr__(both, "encoders", tuple(explained))
        assert printed(print_explanation, both) == [
            "Encoder 1 of 2, weight 1",
            "No words: the vector is zero.",
            "Encoder 2 of 2, weight 0.25",
            "No words: the vector is zero.",
        ]


class TestMatches:
    def test_the_pairs_beyond_ten_are_one_row(self, printed):
        first, second = "a b c d", "e f g"
        shares = {(i, j): (12 - 3 * i - j) / 100 for i in range(4) for j in range(3)}
        cosine = sum(shares.values())
        del shares[3, 2]  # only the strongest pairs are listed
        lines = printed(print_match, match(first, second, shares, cosine))
        assert lines[:3] == [first, second, f"cosine {cosine:.4f}"]
        rows = [line.split() for line in lines[6:] if line]
        assert rows[0] == ["a", "e", "0.120"]
        assert len(rows) == 11
        assert rows[-1] == ["2", "other", "pairs", "0.030"]
        lines = printed(print_match, match("a b c d e", "f g", {(0, 0): 0.25}, 0.25))
        assert [line.split() for line in lines[6:] if line] == [["a", "f", "0.250"]]

    def test_without_words(self, printed):
        assert printed(print_match, match("", "a", {}, 0.0)) == ["No words: the cosine is zero."]


@pytest.mark.parametrize(
    ("wanted", "fields"),
    [
        ({"why": True, "collapse": 0.9}, {"why": True, "similar": True}),
        ({"why": False, "collapse": False}, {"why": False, "similar": False}),
        ({"why": False}, {"why": False, "similar": False}),
    ],
)
def test_a_result_as_json_has_what_was_asked_for(wanted, fields):
    assert result_row(SimpleNamespace(to_dict=lambda **asked: asked), wanted) == fields


def test_what_was_searched_for_instead_and_beside(printed):
    hits = SimpleNamespace(
        corrected={"vissa": "visa"}, synonyms={"ktr": ["coffee machine", "maker"]}
    )
    assert printed(print_used_words, hits) == [
        "Searched for visa; no text holds vissa (--no-correct searches for it).",
        "Searched also for coffee machine, maker: synonyms of ktr.",
    ]
    assert used_words(hits) == {"corrected": hits.corrected, "synonyms": hits.synonyms}
    hits.corrected = {}
    assert used_words(hits) == {"synonyms": hits.synonyms}
    hits.synonyms = {}
    assert used_words(hits) == {}
    assert printed(print_used_words, hits) == []
