"""The whole line of errors that other tests only know by some of its words."""

import zipfile

import numpy as np
import pytest

from gem_index import CombinedEncoder, Document, GemConfig, GemEncoder
from gem_index.collection.corpus.main_topics import main_groups
from gem_index.common.json_input import JsonError, parse_json
from gem_index.common.notebook import html_table
from gem_index.errors import ConfigError, InputError, RecordError
from gem_index.evaluate.lexical_baselines import check_pairs
from gem_index.files.inputs import user_path
from gem_index.gem.components import Components, CorpusStatistics
from gem_index.gem.reranking import rerank
from gem_index.gem.specification import encoder_specs
from gem_index.readers import DocumentReader
from gem_index.targets.local import has_database, local_path
from gem_index.targets.url import TargetUrl
from gem_index.text.synonyms import Synonyms
from gem_index.text.tokens import WeightedText
from told import told as said


def test_sizes_of_components_and_statistics(small_vectors):
    d = small_vectors.dimension
    assert said(ConfigError, Components, np.ones((2, 3)), np.ones(4), 1) == (
        "found directions (2, 3) and singular values (4,); expected (K, d) and (K,)"
    )
    assert said(ConfigError, CorpusStatistics(2).merge, CorpusStatistics(3)) == (
        "found statistics of 3 dimensions; expected 2"
    )
    components = Components(np.ones((2, d + 1)), np.ones(2), 1)
    assert said(ConfigError, GemEncoder, small_vectors, components=components) == (
        f"found components of {d + 1} dimensions and vectors of {d}; expected the same"
    )


def test_configurations():
    assert said(ConfigError, GemConfig, n_removed=5, n_components=4) == (
        "n_removed is 5 and n_components 4; expected no more removed directions than components"
    )
    assert said(ConfigError, GemConfig.named_fields, {"n_removed": 1, "removed": 2}) == (
        "the configuration holds n_removed and removed, which are the same; expected one of them"
    )


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({"encoders": []}, "the configuration has no configuration; expected "),
        (
            {"encoders": [{"vectors": "a", "config": {}}], "config": {}, "x": 1},
            "the configuration has 'config', 'x' beside encoders; expected only encoders",
        ),
        ({"encoders": [{}] * 101}, "the configuration has 101 encoders; expected at most "),
    ],
)
def test_lists_of_encoders(content, told):
    assert said(ConfigError, encoder_specs, None, content, "wordllama").startswith(told)


def test_several_encoders(small_vectors, tmp_path):
    one, other = GemEncoder(small_vectors), GemEncoder(small_vectors, GemConfig(tokenizer="tweet"))
    assert said(ConfigError, CombinedEncoder, [one], [0.5, 0.5]).startswith(
        "found 1 encoders and the weights [0.5, 0.5]; expected 1 to "
    )
    assert said(ConfigError, CombinedEncoder, [one, other], [0.5, 0.5]) == (
        "found encoders of the tokenizers tweet, wordpunct; expected one for all of them, so that each word has a "
        "weight in each"
    )
    both = CombinedEncoder([one, one], [0.5, 2])
    assert repr(both) == f"CombinedEncoder({one!r} * 0.5, {one!r} * 2)"
    both.save(tmp_path / "both")
    assert said(ConfigError, GemEncoder.load, tmp_path / "both", small_vectors) == (
        f"{tmp_path}/both has 2 encoders; expected one: open it with CombinedEncoder.load"
    )


def test_candidates(small_vectors):
    encoder = GemEncoder(small_vectors)
    assert said(InputError, rerank, "a", ["b", 7], encoder) == (
        "candidate 1 is 7; expected a text, or an id and a text"
    )
    assert said(InputError, rerank, "a", ["b", ("\ud800", "c")], encoder).startswith(
        "the id of candidate 1 "
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[" * 300 + "]" * 300, "is nested deeper than 100 levels; expected fewer"),
        ("1" * 5000, "holds an integer of 5000 digits; expected at most 4,300"),
        ("-" + "1" * 5000, "holds an integer of 5000 digits; expected at most 4,300"),
        ("[1e999]", "holds the number '1e999'; expected one within float64"),
        ('{"a": 1, "a": 2}', "holds the key 'a' twice in one object; expected it once"),
        ("NaN", "holds NaN, which is not JSON; expected a finite number or null"),
    ],
)
def test_json(text, told):
    assert said(JsonError, parse_json, text, unique=True) == told


@pytest.mark.parametrize(("name", "kind"), [("a.json", InputError), ("a.jsonl", RecordError)])
def test_deep_records(tmp_path, name, kind):
    row = '{"id": "1", "text": "a", "x": ' + "[" * 200 + "]" * 200 + "}"
    (tmp_path / name).write_text(f"[{row}]" if name == "a.json" else row)
    told = said(kind, list, DocumentReader([tmp_path / name]))
    assert told.endswith("is nested deeper than 100 levels; expected fewer")


def test_types_of_columns(tmp_path):
    assert said(ConfigError, DocumentReader, [tmp_path], types={"n": "list:"}) == (
        "the type of the column 'n' is 'list:'; expected text, number, boolean, date, auto or list:SEPARATOR, such as list:;"
    )


def test_texts_of_measures():
    assert said(InputError, check_pairs, ["a", "b"], ["c"]) == (
        "found 2 first and 1 second texts; expected equal numbers"
    )
    assert said(InputError, check_pairs, ["a"], "c") == (
        "found one string 'c'; expected a list of texts"
    )


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        (7, "the parts of a text are 7; expected (length, weight) pairs"),
        ([(1, 2.0, 3)], "a part of a text is (1, 2.0, 3); expected (length, weight)"),
        ([(-1, 2.0)], "a part of a text is (-1, 2.0); expected (length, weight)"),
        (
            [(2, 2.0)],
            "the parts [(2, 2.0)] do not add up to the 3 characters of the text; expected parts that cover it",
        ),
    ],
)
def test_parts_of_a_text(weights, told):
    assert said(InputError, WeightedText, "abc", weights) == told


def test_paths():
    assert said(InputError, user_path, "~nobody-here/a") == (
        "the path is '~nobody-here/a', but no user has this name; expected a known user's name after ~"
    )
    assert said(InputError, user_path, "a\0b") == (
        r"the path is 'a\x00b'; expected one without a zero byte"
    )
    assert said(ConfigError, TargetUrl.parse, "parquet:///a\0b").startswith("the target ")


def test_databases_in_files(tmp_path):
    assert said(ConfigError, local_path, TargetUrl.parse("my://host/db"), "my:///FILE") == (
        "found a host in the target my://host/db; expected my:///FILE; write three slashes and the full path"
    )
    (tmp_path / "letter").touch()
    assert said(ConfigError, has_database, tmp_path / "letter", "mark", "My") == (
        f"found the file {tmp_path}/letter; expected a folder of My; name another path"
    )
    assert said(ConfigError, has_database, tmp_path, "mark", "My") == (
        f"found the folder {tmp_path} with other files; expected an empty or missing one, or one of My; name another folder"
    )


def test_synonyms(monkeypatch):
    monkeypatch.setattr("gem_index.text.synonyms._MOST_GROUPS", 1)
    assert said(InputError, Synonyms.of_groups, [["a", "b"], ["c", "d"]]) == (
        "found 2 groups of synonyms; expected at most 1"
    )


def test_main_topics():
    pytest.importorskip("sklearn")
    assert said(InputError, main_groups, np.eye(2, dtype=np.float32), 3) == (
        "found 3 main topics to divide 2 topics into; expected at most 2"
    )


def test_a_table_in_a_notebook():
    assert html_table(("a", "<b>"), [(1, "&"), ("x", None)]) == (
        "<table><thead><tr><th>a</th><th>&lt;b&gt;</th></tr></thead><tbody>"
        "<tr><td>1</td><td>&amp;</td></tr><tr><td>x</td><td>None</td></tr></tbody></table>"
    )


def test_archives_that_cannot_be_unpacked(tmp_path):
    """A member with a password is refused by Python's own package."""
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "a text")
    data = bytearray(path.read_bytes())
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + place] |= 1  # "encrypted"
    path.write_bytes(data)
    told = said(InputError, list, DocumentReader([path]))
    assert told.startswith(f"{path} cannot be unpacked: ")
    assert told.endswith(
        "; expected an undamaged zip file without password, in a common compression"
    )


def test_metadata_that_json_cannot_hold():
    told = said(InputError, Document, id="a", text="b", metadata={"x": {1, 2}})
    assert told.startswith("the metadata 'x' of 'a' is not JSON: ")
    assert told.endswith(
        "; expected strings, numbers, booleans, null, and lists and objects of these"
    )
