"""Texts split by another of NLTK's tokenizers, and what follows in vectors, explanations and collections."""

import subprocess
import sys
from html import unescape

import numpy as np
import pytest
from nltk.tokenize import ToktokTokenizer, TreebankWordTokenizer, TweetTokenizer

from gem_index import CombinedEncoder, Document, GemConfig, GemEncoder, WeightedText
from gem_index.errors import ConfigError
from gem_index.gem.batches import TokenBatch
from gem_index.text.tokens import token_spans, token_weights, tokenize

TEXTS = [
    "I don't know @mary, you're #1 :-) soooo good",
    'AT&T | costs $3.50 & more -- "isn\'t it" (no)',
    "Où est l'école? C'est à 5 km.",
    "cannot gonna wanna",
    "an emoji \U0001f600 and a_b",
    "",
    "?!",
    "tom &amp; jerry",
]
NLTK = {
    "treebank": TreebankWordTokenizer(),
    "tweet": TweetTokenizer(),
    "toktok": ToktokTokenizer(),
}


@pytest.mark.parametrize("name", NLTK)
@pytest.mark.parametrize("text", TEXTS[:5])
def test_tokens_are_nltks_lower_cased_without_punctuation(name, text):
    expected = [
        token.lower()
        for token in NLTK[name].tokenize(text)
        if any(map(str.isalnum, token)) and token not in ("&amp;", "&#124;")
    ]
    assert tokenize(text, name) == expected


def test_they_differ_where_they_should():
    split = {name: tokenize("you don't say, @mary", name) for name in NLTK}
    assert split == {
        "treebank": ["you", "do", "n't", "say", "mary"],
        "tweet": ["you", "don't", "say", "@mary"],
        "toktok": ["you", "don", "t", "say", "@mary"],
    }
    assert tokenize("you don't say, @mary") == ["you", "don", "t", "say", "mary"]


@pytest.mark.parametrize("name", NLTK)
@pytest.mark.parametrize("text", TEXTS)
def test_spans_are_where_the_words_stand(name, text):
    words, spans = tokenize(text, name), token_spans(text, name)
    assert len(words) == len(spans)
    assert all(
        word in (text[begin:end].lower(), unescape(text[begin:end]).lower())
        for word, (begin, end) in zip(words, spans, strict=True)
    )
    assert spans == sorted(spans)


@pytest.mark.parametrize(
    ("name", "parts", "expected"),
    [
        ("treebank", ['"renew" a visa', "use ``code`` here"], [5, 5, 5, 1, 1, 1]),
        ("treebank", ['he said "renew" my visa', "it's '' here"], [5, 5, 5, 5, 5, 1, 1, 1]),
        ("tweet", ["&lt;b&gt; b", "b"], [5, 5, 1]),
        ("tweet", ["&#233;t&eacute;", "caf&eacute; &amp; tea"], [5, 1, 1]),
        ("toktok", ["AT& T | x", "x & y"], [5, 5, 5, 1, 1]),
    ],
)
def test_what_a_tokenizer_rewrites_shifts_no_word(name, parts, expected):
    text = WeightedText.joined([(parts[0], 5.0), (parts[1], 1.0)])
    assert token_weights(text, name) == expected


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("tweet", "see http://a.b/c?x=1&copy=2&para=3", ["see", "http://a.b/c?x=1&copy=2&para=3"]),
        ("tweet", "caf&eacute; &amp; bar &#233;t&eacute;", ["café", "bar", "été"]),
        ("toktok", "a&copy b&lt c", ["a&copy", "b&lt", "c"]),
    ],
)
def test_words_are_not_rewritten_by_us(name, text, expected):
    assert tokenize(text, name) == expected


@pytest.mark.parametrize("name", NLTK)
def test_vectors_are_those_of_the_tokens(small_vectors, name):
    config = GemConfig(n_removed=1, n_components=3, tokenizer=name)
    encoder = GemEncoder(small_vectors, config)
    batch = TokenBatch.of_tokens([tokenize(text, name) for text in TEXTS])
    out = np.empty((len(TEXTS), encoder.dimension), np.float32)
    encoder.encode_tokens(batch, out)
    assert np.array_equal(encoder.encode(TEXTS), out)
    usual = GemEncoder(small_vectors, GemConfig(n_removed=1, n_components=3))
    assert not np.array_equal(usual.encode(TEXTS), out)
    assert not out[5:7].any()


@pytest.mark.parametrize("name", NLTK)
def test_explanations_use_the_same_words(small_vectors, name):
    encoder = GemEncoder(small_vectors, GemConfig(tokenizer=name))
    for text in TEXTS:
        assert [word.token for word in encoder.explain(text).words] == tokenize(text, name)
    match = encoder.explain_match(TEXTS[0], TEXTS[1])
    assert [word.token for word in match.first_words] == tokenize(TEXTS[0], name)
    assert match.cosine == pytest.approx(encoder.similarity(TEXTS[0], TEXTS[1]), abs=1e-6)


def test_parts_of_a_text_count_by_where_their_words_stand():
    text = WeightedText.joined([("you don't", 2.0), ("say @mary", 1.0)])
    assert tokenize(text, "treebank") == ["you", "do", "n't", "say", "mary"]
    assert token_weights(text, "treebank") == [2, 2, 2, 1, 1]
    batch = TokenBatch.of_texts(["plain", text], "treebank")
    assert batch.counts.tolist() == [1, 2, 2, 2, 1, 1]


def test_it_is_part_of_the_fingerprint_where_it_is_not_the_default(small_vectors):
    made = {
        name: GemEncoder(small_vectors, GemConfig(tokenizer=name)).fingerprint
        for name in ("wordpunct", *NLTK)
    }
    assert len(set(made.values())) == 4
    assert made["wordpunct"] == GemEncoder(small_vectors, GemConfig()).fingerprint
    assert "tokenizer" not in GemConfig().to_json()
    for name in NLTK:
        config = GemConfig(tokenizer=name)
        assert GemConfig.from_json(config.to_json()) == config


def test_other_names_are_refused(small_vectors):
    with pytest.raises(
        ConfigError, match="tokenizer is 'punkt'; expected one of wordpunct, treebank"
    ):
        GemConfig(tokenizer="punkt")
    encoders = [
        GemEncoder(small_vectors, GemConfig(tokenizer=name)) for name in ("tweet", "toktok")
    ]
    with pytest.raises(ConfigError, match="of the tokenizers toktok, tweet; expected one"):
        CombinedEncoder(encoders, [1, 1])


def test_a_collection_keeps_it(home, vectors_folder):
    config = {"tokenizer": "tweet", "n_removed": 1}
    home.build(
        "c",
        [Document(id="a", text="you don't say @mary")],
        vectors=str(vectors_folder),
        config=config,
    )
    encoder = home.collection("c").encoder
    assert encoder.config.tokenizer == "tweet"
    hit = home.collection("c").search("@mary don't", why=True)[0]
    assert [word.token for word in hit.why.first_words] == ["@mary", "don't"]


def test_nltk_is_imported_only_for_the_others():
    code = (
        "import sys; from gem_index import open_provider; "
        "open_provider('wordllama').embed_query('it is'); print('nltk' in sys.modules); "
        "open_provider('wordllama', config={'tokenizer': 'toktok'}).embed_query('it is'); "
        "print('nltk' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
