"""The tokenizer against NLTK itself, whose tokens it normalizes."""

import re
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_index.gem.batches import TokenBatch
from gem_index.text.tokens import (
    _WITH_SYMBOLS,
    has_symbols,
    normalized_token,
    search_tokens,
    tokenize,
)


def tokens_of_nltk(text):
    from nltk.tokenize import wordpunct_tokenize

    return [normalized(t) for t in wordpunct_tokenize(text) if any(c.isalnum() for c in t)]


def normalized(token):
    """Letters composed with their marks, full-width and half-width characters as their ordinary ones."""
    widths = re.split("([\uff00-\uffef]+)", token)
    widths[1::2] = [unicodedata.normalize("NFKC", part) for part in widths[1::2]]
    parts = [[]]
    for character in "".join(widths):
        if (
            not unicodedata.category(character).startswith("M")
            and not "\u1100" <= character <= "\u11ff"
        ) or (
            "\u1100" <= character <= "\u11ff"
            and not (parts[-1] and "\u1100" <= parts[-1][0] <= "\u11ff")
        ):
            parts.append([])
        parts[-1].append(character)
    joined = ["".join(part) for part in parts]
    return "".join(
        part if len(part) == 1 else unicodedata.normalize("NFC", part) for part in joined
    ).lower()


@given(
    st.lists(
        st.sampled_from(
            [*"ab1_é中", *".&/@+#-", *" \n\u00a0\x1c", "c++", ".net", "\u0301", "\u2019"]
        ),
        max_size=30,
    ).map("".join)
    | st.text(max_size=60)
)
def test_words_with_symbols_are_those_of_the_whole_text(text):
    """They are looked for only in the parts between blanks that hold a symbol."""
    found = _WITH_SYMBOLS.findall(normalized_token(text))
    assert search_tokens(text)[len(tokenize(text)) :] == [
        each for each in found if has_symbols(each)
    ]


@given(st.text(max_size=200))
def test_equals_nltk_on_any_unicode(text):
    assert tokenize(text) == tokens_of_nltk(text)


@given(
    st.text(
        alphabet="aB1_-'. \u0130\u0301\u0915\u093f\u00df\u2028\U0001f600\U00010400\n", max_size=80
    )
)
def test_equals_nltk_on_hard_characters(text):
    assert tokenize(text) == tokens_of_nltk(text)


_LETTERS = st.characters(categories=["L", "Mn", "Mc", "Nd"])


@given(st.text(_LETTERS | st.sampled_from(" .-+#&/@"), max_size=40))
def test_composed_and_decomposed_letters_are_one(text):
    composed = unicodedata.normalize("NFC", text)
    decomposed = unicodedata.normalize("NFD", text)
    assert tokenize(composed) == tokenize(decomposed)
    assert search_tokens(composed) == search_tokens(decomposed)


@given(st.text(st.characters(max_codepoint=126), max_size=40))
def test_full_width_letters_are_ordinary_ones(text):
    wide = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)
    assert tokenize(wide) == tokenize(text)
    assert search_tokens(wide) == search_tokens(text)


@given(
    st.lists(
        st.text(st.characters(max_codepoint=127), max_size=40)
        | st.text(
            alphabet="aB1_-'. \u0130\u0301\u0915\u093f\u00df\u00b2!\u2028\U00010400\n", max_size=40
        )
        | st.text(max_size=40),
        max_size=8,
    )
)
def test_batches_hold_the_tokenizers_words(texts):
    batch = TokenBatch.of_texts(texts)
    found = [
        [batch.words[i] for i in batch.ids[begin:end]]
        for begin, end in pairwise(batch.offsets.tolist())
    ]
    assert found == [tokenize(text) for text in texts]
    assert len(set(batch.words)) == len(batch.words)


@pytest.mark.parametrize("places", [2, 64])
def test_more_words_than_half_of_the_first_table(places, monkeypatch):
    texts = [f"word{i % 70} number{i} again{i % 3}" for i in range(200)]
    expected = TokenBatch.of_texts(texts)
    monkeypatch.setattr("gem_index.gem.batches._TABLE", places)
    found = TokenBatch.of_texts(texts)
    assert found.words == expected.words
    assert len(set(found.words)) == 70 + 200 + 3
    assert found.ids.tolist() == expected.ids.tolist()


@pytest.mark.shared_data
def test_equals_nltk_on_real_text(shared):
    for path in sorted((shared / "data").rglob("*.jsonl")) + [
        shared / "data/stsbenchmark/sts-dev.csv"
    ]:
        text = path.read_text(encoding="utf-8")
        assert tokenize(text) == tokens_of_nltk(text)
