"""The words of the server's page: all in the tables, and the same in each language."""

import json
import re
from pathlib import Path

import pytest

import gem_index

PAGE = Path(gem_index.__file__).parent / "server" / "page"
MODULES = {path.name: path.read_text(encoding="utf-8") for path in sorted(PAGE.glob("*.js"))}
TABLES = {
    path.name.split(".")[1]: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted(PAGE.glob("words.*.json"))
}
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`')
CODE = {"gem-index build faq questions.jsonl", "* is no function", "a link leads elsewhere"}
PLACE = re.compile(r"\{(\w+)\}")


def rows(table):
    return {
        f"{group}.{name}": words for group, names in table.items() for name, words in names.items()
    }


def forms(words):
    return {"other": words} if isinstance(words, str) else words


def literals(source):
    """The strings of a module that are neither classes nor code for the reader; `*` stands for what a template fills in."""
    source = re.sub(r"/\*.*?\*/|(^|\s)//[^\n]*", "", source, flags=re.S)
    source = source.partition("\nfunction snippets(")[0]
    source = re.sub(r'\bclass: *("[^"]*"|`[^`]*`)', "", source)
    for match in LITERAL.finditer(source):
        yield re.sub(r"\$\{[^}]*\}", "*", match[1] if match[1] is not None else match[2])


def is_sentence(text):
    return bool(re.search(r"[^\W\d_]{2,} [^\W\d_]{2,}", text))


def test_the_languages_offered_have_tables():
    offered = re.search(r"LANGUAGES = \{([^}]*)\}", MODULES["words.js"])[1]
    assert sorted(re.findall(r"(\w+):", offered)) == sorted(TABLES)
    assert {"en", "de"} <= set(TABLES)


@pytest.mark.parametrize("language", sorted(TABLES))
def test_each_language_has_the_same_words_and_places(language):
    english, other = rows(TABLES["en"]), rows(TABLES[language])
    assert list(english) == list(other)
    for key, words in other.items():
        places = set(PLACE.findall(forms(english[key])["other"]))
        assert isinstance(words, str) == isinstance(english[key], str), key
        for form in forms(words).values():
            assert form.strip() == form != "", key
            assert set(PLACE.findall(form)) == places, key
        assert "other" in forms(words), key


def test_the_modules_use_every_word_and_no_other():
    groups = "|".join(TABLES["en"])
    used = {
        text
        for source in MODULES.values()
        for text in literals(source)
        if re.fullmatch(rf"({groups})\.[\w*]+", text)
    }
    patterns = {key: re.compile(re.escape(key).replace(r"\*", r"\w*")) for key in used}
    known = rows(TABLES["en"])
    assert [
        key for key, pattern in patterns.items() if not any(map(pattern.fullmatch, known))
    ] == []
    assert [
        key for key in known if not any(each.fullmatch(key) for each in patterns.values())
    ] == []


def test_no_sentence_is_outside_of_the_tables():
    assert is_sentence("Nothing found.")
    assert not is_sentence("gem-index")
    found = {
        (name, text)
        for name, source in MODULES.items()
        if name != "code.js"  # writes code
        for text in literals(source)
        if is_sentence(text.replace("*", "")) and text not in CODE
    }
    assert found == {
        ("documents.js", "ISO date"), ("facets.js", "li button"), ("filters.js", "ISO date"),
        ("labels.js", "*px *px"), ("scatter.js", "gem-index: map drawn"), ("search.js", "gem-index: hits shown"),
        ("search.js", "hit weak"),
    }  # fmt: skip


def test_the_page_before_its_modules_has_no_words():
    html = (PAGE / "index.html").read_text(encoding="utf-8")
    without = re.sub(r"<noscript>.*?</noscript>", "", html, flags=re.S)  # no module reads a table
    assert re.sub(r"<[^>]*>", "", without).split() == ["gem-index"]  # the title
    assert not re.search(r'(aria-label|title|placeholder)="', without)
