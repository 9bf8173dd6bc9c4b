"""The options for pieces of long texts."""

import json

import pytest

from gem_index.targets import open_target

FILLER = "The weather was fine on that day and nothing else happened in the town. "


@pytest.fixture
def records(tmp_path):
    path = tmp_path / "r.jsonl"
    rows = [
        {"id": "long", "text": f"{FILLER * 10}\n\nHow do I renew a visa?\n\n{FILLER * 10}"},
        {"id": "short", "text": "When does the bank open?"},
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def test_long_texts_are_cut_by_default(gem, records):
    built = gem("build", "faq", records, "--json").json
    assert (built["documents"], built["pieces"]) == (2, 3)
    [hit, other] = gem("search", "faq", "renew a visa", "--json").json
    assert hit["id"] == "long"
    piece = hit["piece"]
    assert piece["text"] == hit["text"][piece["start"] : piece["end"]]
    assert "How do I renew a visa?" in piece["text"]
    fields = {"text", "number", "start", "end", "heading", "hits", "page"}
    assert (set(piece), "piece" in other) == (fields, False)
    assert gem("search", "faq", "renew a visa", "-k", "1").out.count("\n") <= 2
    assert "Model fitted on 3 pieces with" in gem("build", "faq", records).out


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"# Guide\n\n{FILLER * 20}\n\n## Visas\n\nRenew a visa here.\n\n{FILLER * 10}", "Guide > Visas"),
        (f"{FILLER * 12}Renew a visa. {FILLER * 12}Renew a visa. {FILLER * 12}", "2 pieces"),
        (f"# Guide\n\n{FILLER * 20}\f\n## Visas\n\nRenew a visa. {FILLER * 9}", "Guide > Visas, page 2"),
    ],
)  # fmt: skip
def test_the_place_of_a_piece_stands_below_it(gem, tmp_path, text, line):
    path = tmp_path / "r.jsonl"
    rows = [{"id": "long", "text": text}, {"id": "short", "text": "When does the bank open?"}]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    gem("build", "faq", path)
    assert line in [
        each.strip() for each in gem("search", "faq", "renew visa", "-k", "1").out.splitlines()
    ]


def test_none_and_a_number_of_words(gem, records):
    gem("build", "whole", records, "--chunk", "none")
    assert "piece" not in gem("search", "whole", "renew a visa", "--json").json[0]
    built = gem(
        "build", "small", records, "--chunk", "20", "--overlap", "5", "--headings", "--json"
    )
    assert built.json["pieces"] > 10
    found = gem("search", "small", "renew a visa", "--pieces", "-k", "3", "--json").json
    assert len(found) == 3
    assert all(len(each["text"].split()) <= 20 for each in found)
    assert "visa" in found[0]["text"]


def test_add_cuts_as_build_did(gem, records):
    gem("build", "faq", records, "--chunk", "20")
    assert gem("add", "faq", records, "--chunk", "20").status == 0
    other = gem("add", "faq", records, "--chunk", "30")
    assert other.status == 2
    assert (
        "the collection faq has the chunking {'chunk': 20}, found {'chunk': 30}; expected the same"
        in other.err
    )


def test_embed_cuts_as_build_does(gem, records, tmp_path):
    def ids(url):
        gem("pull", url, "pulled")
        target = open_target(url)
        found = sorted(row.id for row in target.live().documents())
        target.close()
        return found

    auto, small, whole = (f"parquet://{tmp_path}/{name}" for name in ("auto", "small", "whole"))
    report = gem("embed", records, "--to", auto, "--json").json
    assert (report["added"], report["documents"]) == (2, 2)
    assert ids(auto) == ["long#1", "long#2", "short"]
    assert gem("count", "pulled").out.strip() == "2"
    gem("embed", records, "--to", whole, "--chunk", "none")
    assert ids(whole) == ["long", "short"]
    gem("embed", records, "--to", small, "--chunk", "20", "--overlap", "5", "--headings")
    assert len(ids(small)) > 10
    assert gem("embed", records, "--to", small, "--json").json["updated"] == 2
    other = gem("embed", records, "--to", small, "--chunk", "30")
    assert other.status == 2
    assert "'headings': True}, found {'chunk': 30}; expected the same" in other.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--chunk", "5"),
            "number of words of a piece is 5; expected auto, none, or a whole number from 10",
        ),
        (("--chunk", "long"), "number of words of a piece is 'long'; expected auto, none"),
        (("--overlap", "5"), "found --overlap or --headings without --chunk; expected all of them"),
        (
            ("--chunk", "20", "--overlap", "15"),
            "the overlap is 15 words, and pieces have 20; expected at most half",
        ),
        (
            ("--chunk", "none", "--headings"),
            "found an overlap or headings, but texts are not divided",
        ),
    ],
)
def test_bad_options(gem, records, options, message):
    failed = gem("build", "faq", records, *options)
    assert failed.status == 2
    assert message in failed.err
    assert failed.err.count("\n") == 1
    assert gem("status", "--json").json["collections"] == []
