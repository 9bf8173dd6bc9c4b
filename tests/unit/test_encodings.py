"""Encodings of text files: byte order marks, detection, and bytes that do not fit."""

import gzip
import io
import random
import re
import sys

import pytest

from gem_index.errors import InputError, RecordError
from gem_index.readers import DocumentReader
from gem_index.readers.code_pages import code_page_of
from gem_index.readers.encodings import as_utf8

TEXTS = {
    "cp1252": "Où est le café? L'été, les élèves étudient à l'école; ça coûte trop cher.",
    "cp1251": "Где находится банк? Как продлить визу?",
    "cp1253": "Πού είναι η τράπεζα; Πώς ανανεώνω τη βίζα μου;",
    "cp1250": "Zażółć gęślą jaźń. Gdzie jest urząd? Proszę złożyć wniosek.",
    "gb18030": "我怎么更新签证?银行在哪里?需要什么文件?",
    "utf-8": "Zurück \u2013 東京",
    "utf-8-sig": "Zurück \u2013 東京",
    "utf-16": "Zurück \u2013 東京",
    "utf-32": "Zurück \u2013 東京",
    "utf-16-le": "How do I renew a visa? Zurück",
    "ascii": "How do I renew a visa?",
}  # fmt: skip


def write(path, content):
    path.write_bytes(content)
    return str(path)


@pytest.mark.parametrize("encoding", TEXTS)
@pytest.mark.parametrize("packed", [False, True])
def test_auto(tmp_path, encoding, packed):
    content = "".join(f"{TEXTS[encoding]} {i}\n" for i in range(30)).encode(encoding)
    path = write(tmp_path / "x.txt", gzip.compress(content) if packed else content)
    notes = []
    found = [d.text for d in DocumentReader([path], encoding="auto", on_end=notes.extend)]
    assert found == [f"{TEXTS[encoding]} {i}" for i in range(30)]
    told = encoding.replace("-", "_") if encoding == "utf-16-le" else encoding
    if encoding in ("utf-8", "utf-8-sig", "ascii"):
        assert notes == []
    else:
        assert [str(each) for each in notes] == [
            f"{path} is read as {told}; this encoding was detected."
        ]


def test_control_characters_do_not_make_utf_8_another_encoding(tmp_path):
    text = "Zur\u00fcck \x02 \x1b[1mbold\x1b[0m"
    path = write(tmp_path / "x.txt", text.encode())
    notes = []
    assert list(DocumentReader([path], encoding="auto", on_end=notes.extend).texts()) == [text]
    assert notes == []


def test_what_decodes_alike_is_the_common_encoding(tmp_path):
    text = "Wie heißt die Straße? Größe und Übermaß kosten für Schüler nichts."
    path = write(tmp_path / "x.txt", text.encode("cp1250"))
    notes = []
    assert [d.text for d in DocumentReader([path], encoding="auto", on_end=notes.extend)] == [text]
    assert "is read as cp1252" in str(notes[0])


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "id,text\n1,Où est la gare ?\n2,Le café est fermé.\n"),
        ("cp1252", "Comment changer mon mot de passe ? C'est déjà arrivé à l\u2019école."),
        ("cp1252", "Überweisung rückgängig machen"),
        ("cp1252", "Straße gesperrt \u2013 wo ist die „Umleitung“?"),
        ("cp1252", "¿Dónde está el baño? Mañana por la mañana."),
        ("cp1252", "Perché la città è così cara? Non c'è più posto."),
        ("cp1250", "id,text\n1,Gdzie jest najbliższy bank?\n2,Jak przedłużyć wizę?\n"),
        ("cp1250", "Kde je nejbližší banka? Jak prodloužit vízum?"),
        ("cp1257", "Kur yra artimiausias bankas? Kaip pratęsti vizą? Ačiū už pagalbą, prašom atsakyti šią savaitę."),
    ],
)  # fmt: skip
def test_short_texts_of_european_languages(tmp_path, encoding, text):
    path = write(tmp_path / "x.txt", text.encode(encoding))
    notes = []
    found = list(DocumentReader([path], encoding="auto", on_end=notes.extend).texts())
    assert found == text.splitlines()
    assert str(notes[0]) == f"{path} is read as {encoding}; this encoding was detected."


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp437", "Wie verlängere ich mein Visum? Größe und Übermaß"),
        ("mac_roman", "Größe und Übermaß für Schüler"),
        ("mac_roman", "Où est la gare ? Le café est fermé."),
        ("iso8859_15", "Où est la gare ? Le café est fermé, c'est un œuf"),
    ],
)
def test_a_text_of_another_encoding_is_in_no_code_page(encoding, text):
    assert code_page_of(text.encode(encoding)) is None


def test_the_most_likely_ones_are_named(tmp_path):
    path = write(tmp_path / "x.txt", "5 \u20ac \u2013 don\u2019t wait".encode("cp1252"))
    with pytest.raises(InputError, match=r"confidence \(perhaps cp1252 or cp1251\); expected more"):
        list(DocumentReader([path], encoding="auto"))


def test_at_most_three_likely_ones_are_named_and_the_first_is_advised(tmp_path):
    path = write(tmp_path / "x.txt", "\u00f1and\u00fa".encode("cp1252"))
    with pytest.raises(InputError) as told:
        list(DocumentReader([path], encoding="auto"))
    named = re.search(r"\(perhaps (\w+)(?: or \w+){1,2}\)", str(told.value))
    assert told.value.advice.values == {"encoding": named[1]}


@pytest.mark.parametrize("mark", [b"", b"\xff\xfe"])
def test_an_unknown_encoding_is_named_whatever_mark_the_file_has(tmp_path, mark):
    path = write(tmp_path / "x.txt", mark + b"a\0")
    with pytest.raises(InputError, match="'utf-9'"):
        list(DocumentReader([path], encoding="utf-9"))


@pytest.mark.parametrize(
    "content", [b"caf\xe9\n", b"\xcf\xf0\xe8\xe2\xe5\xf2\n", bytes(range(256)) * 20, b"a\0\0\0\0b\0\1c", b"\xff"]
)  # fmt: skip
def test_low_confidence_is_an_error(tmp_path, content):
    path = write(tmp_path / "x.txt", content)
    with pytest.raises(
        InputError, match=r"cannot be detected with confidence.*; expected .*: name the file's enc"
    ):
        list(DocumentReader([path], encoding="auto"))


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_wide_text_has_no_control_characters(tmp_path, encoding):
    path = write(tmp_path / "x.txt", "how do I renew my visa?\n".encode(encoding) * 20)
    assert set(DocumentReader([path], encoding="auto").texts()) == {"how do I renew my visa?"}
    write(tmp_path / "x.txt", "how do I\x01 renew my visa?\n".encode(encoding) * 20)
    with pytest.raises(InputError, match="cannot be detected with confidence"):
        list(DocumentReader([path], encoding="auto"))


def test_noise_is_not_taken_for_text(tmp_path):
    path = write(tmp_path / "x.txt", random.Random(0).randbytes(20_000))
    with pytest.raises(InputError, match="cannot be detected with confidence"):
        list(DocumentReader([path], encoding="auto"))


def test_a_bad_byte_after_the_sample_is_a_bad_record(tmp_path):
    path = write(tmp_path / "x.txt", b"plain line\n" * 30_000 + b"caf\xe9\nlast\n")
    problems = []
    reader = DocumentReader([path], encoding="auto", on_problem=problems.append)
    assert sum(1 for _ in reader) == 30_001
    assert "line 30001: byte 4 is not UTF-8" in str(problems[0])


def test_auto_on_standard_input_is_read_once(monkeypatch):
    content = (TEXTS["cp1251"] + "\n").encode("cp1251") * 3
    stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(content), 16))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert [d.text for d in DocumentReader(["-"], encoding="auto")] == [TEXTS["cp1251"]] * 3


@pytest.mark.parametrize(
    ("mark", "encoding", "problem"),
    [
        (
            "utf-16",
            None,
            "mark of UTF-16; expected UTF-8 text: name the file's encoding, as encoding='utf-16'",
        ),
        (
            "utf-32",
            None,
            "mark of UTF-32; expected UTF-8 text: name the file's encoding, as encoding='utf-32'",
        ),
        (
            "utf-8-sig",
            "cp1252",
            "mark of UTF-8; expected cp1252 text: name the file's encoding, as encoding='utf-8'",
        ),
        (
            "utf-16",
            "latin-1",
            "mark of UTF-16; expected latin-1 text: name the file's encoding, as encoding='utf-16'",
        ),
    ],
)
def test_the_mark_of_another_encoding(tmp_path, mark, encoding, problem):
    path = write(tmp_path / "x.csv", "id,text\n1,a\n".encode(mark))
    with pytest.raises(InputError, match=f"x.csv begins with the byte order {problem}"):
        list(DocumentReader([path], encoding=encoding, on_problem=print))


@pytest.mark.parametrize("encoding", ["utf-8", "UTF8", "utf_8_sig", "utf-16", "utf-16-le", "auto"])
def test_the_mark_of_the_same_encoding(tmp_path, encoding):
    marked = "utf-8-sig" if "8" in encoding else "utf-16"
    path = write(tmp_path / "x.csv", "id,text\n1,café\n".encode(marked))
    assert [(d.id, d.text) for d in DocumentReader([path], encoding=encoding)] == [("1", "café")]


@pytest.mark.parametrize(
    ("encoding", "bad"),
    [
        ("cp1252", b"caf\x81"), ("ascii", b"caf\xe9"), ("shift_jis", b"caf\xfd"), ("gb18030", b"caf\xff"),
        ("utf-8", b"caf\xff"), ("utf-16-le", b"c\0\x00\xdc"), ("utf-16-be", b"\0c\xdc\x00"), ("cp1253", b"\xd2"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["txt", "csv", "jsonl"])
def test_a_badly_encoded_record_is_a_bad_record(tmp_path, encoding, bad, form):
    before, after, lines = {
        "txt": ("", "", ["one", "three"]),
        "csv": ("", "", ["text", "one", "three"]),
        "jsonl": ('{"text": "', '"}', ['{"text": "one"}', '{"text": "three"}']),
    }[form]
    ascii_like = encoding if encoding.startswith("utf-16") else "ascii"
    end = "\n".encode(ascii_like)
    rows = [line.encode(ascii_like) for line in lines]
    rows.insert(-1, before.encode(ascii_like) + bad + after.encode(ascii_like))
    path = write(tmp_path / f"x.{form}", end.join([*rows, b""]))
    problems = []
    reader = DocumentReader([path], encoding=encoding, on_problem=problems.append)
    assert [d.text for d in reader] == ["one", "three"]
    assert len(problems) == reader.skipped == 1
    assert f"is not {encoding}; expected {encoding} text" in str(problems[0])
    with pytest.raises(RecordError, match=f"is not {encoding}; expected"):
        list(DocumentReader([path], encoding=encoding))


@pytest.mark.parametrize("form", ["csv", "txt", "jsonl", "tsv"])
def test_zero_bytes_are_no_text(tmp_path, form):
    row = {"jsonl": b'{"text": "a\0"}\n{"text": "b"}\n'}.get(form, b"text\na\0\nb\n")
    path = write(tmp_path / f"x.{form}", row)
    with pytest.raises(
        RecordError, match=r"byte \d+ is zero, which text does not hold; expected UTF-8"
    ):
        list(DocumentReader([path]))
    problems = []
    assert [d.text for d in DocumentReader([path], on_problem=problems.append)][-1] == "b"
    assert len(problems) == 1


def test_the_sample_stays_in_place(tmp_path):
    content = random.Random(1).randbytes(600_000).replace(b"\0", b"x")
    with pytest.raises(InputError):
        as_utf8(io.BufferedReader(io.BytesIO(content)), "auto", "x")
    plain = b"abc\n" * 200_000
    file, encoding = as_utf8(io.BufferedReader(io.BytesIO(plain)), "auto", "x")
    assert encoding == "UTF-8"
    assert file.read() == plain
