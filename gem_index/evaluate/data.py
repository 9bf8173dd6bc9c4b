"""The files of evaluation data sets: sentence pairs with scores, and questions with labeled candidates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt

from gem_index.errors import InputError, RecordError
from gem_index.files.inputs import open_input, user_path
from gem_index.readers.formats import read_objects

__all__ = [
    "Question",
    "ScoredPairs",
    "read_questions",
    "read_sts",
]

_LONGEST = 1 << 22
_LABELS = {"PerfectMatch": True, "Relevant": True, "Irrelevant": False}
_STS_LAYOUT = (
    "expected lines of score TAB sentence TAB sentence, or an original sts-dev.csv of the STS Benchmark with the score in "
    "column 5 and the sentences in 6 and 7, or SICK's own files"
)
_SICK_HEADER = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"
_STS_ORIGIN = "the STS Benchmark is at ixa2.si.ehu.eus/stswiki, STS 2012 to 2016 at alt.qcri.org/semeval2016/task1"
_CQA_ORIGIN = (
    "expected the XML of SemEval 2016/2017 Task 3 (alt.qcri.org/semeval2017/task3), or JSON lines with orgq_id, "
    "orgq_subject, orgq_body, relq_id, relq_subject, relq_body and relevant"
)


@dataclass(frozen=True)
class ScoredPairs:
    """Sentence pairs with gold scores.

    Attributes
    ----------
    name : str
        The file's name, or its path below the given folder.
    gold : float64 array (n,)
    first, second : tuple of str
    """

    name: str
    gold: npt.NDArray[np.float64]
    first: tuple[str, ...]
    second: tuple[str, ...]


@dataclass(frozen=True)
class Question:
    """A question with candidates in the order of a search engine.

    Attributes
    ----------
    id : str
    subject, body : str
    candidates : tuple of tuple of str
        Id, subject and body of each.
    relevant : tuple of bool
    """

    id: str
    subject: str
    body: str
    candidates: tuple[tuple[str, str, str], ...]
    relevant: tuple[bool, ...]


def read_sts(names: Iterable[str]) -> list[ScoredPairs]:
    """Read files of sentence pairs; a folder stands for all files below it.

    Raises
    ------
    InputError
        If a file is missing or holds no pairs; RecordError if a line is wrong.
    """
    found = []
    for name in names:
        root = user_path(name)
        if not root.exists():
            raise InputError(f"cannot read {name}: no such file; {_STS_LAYOUT}: {_STS_ORIGIN}")
        paths = [root]
        if root.is_dir():
            paths = [p for p in sorted(root.rglob("*")) if _holds_pairs(p)]
        for path in paths:
            label = path.name if path == root else path.relative_to(root).as_posix()
            pairs = list(_pairs(str(path)))
            if not pairs:
                raise InputError(f"{path} holds no scored pairs; {_STS_LAYOUT}")
            gold, first, second = zip(*pairs, strict=True)
            if min(gold) == max(gold):
                raise InputError(
                    f"{path} holds {len(gold)} pairs of the score {gold[0]:g}; expected scores that differ: "
                    "a correlation needs them"
                )
            found.append(ScoredPairs(label, np.array(gold), first, second))
    if not found:
        raise InputError(f"found no file of sentence pairs; {_STS_LAYOUT}: {_STS_ORIGIN}")
    return found


def _holds_pairs(path: Path) -> bool:
    """Tell whether a file is data, not a readme or a licence beside it."""
    notes = ("readme", "license", "licence")
    return path.suffix in (".csv", ".tsv", ".txt") and not path.stem.lower().startswith(notes)


def _pairs(name: str) -> Iterator[tuple[float, str, str]]:
    sick = False
    with open_input(name) as file:
        for number, raw in enumerate(file, 1):
            try:
                line = raw.decode("utf-8-sig").rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise RecordError(
                    name, number, f"byte {error.start + 1} is not UTF-8; expected UTF-8 text"
                ) from error
            fields = line.split("\t")
            if not line.strip() or not fields[0].strip():
                continue  # SemEval leaves the score of unscored pairs empty
            if number == 1 and line == _SICK_HEADER:
                sick = True
                continue
            place = 4 if len(fields) >= 7 else 0
            try:
                if sick:
                    _, first, second, field, _ = fields
                else:
                    field, first, second = fields[place : place + 3]
                score = float(field)
            except ValueError:
                score = math.nan
            if not math.isfinite(score):
                raise RecordError(name, number, f"found {line[:60]!r}; {_STS_LAYOUT}")
            yield score, first, second


def read_questions(names: Iterable[str]) -> list[Question]:
    """Read questions with labelled candidates from official XML or flat JSON lines; see ``docs/evaluation.md``.

    Raises
    ------
    InputError
        If a file is missing or holds no questions; RecordError if a line is wrong.
    """
    found: list[Question] = []
    for name in names:
        with open_input(name) as file:
            is_xml = file.peek(4)[:4].removeprefix(b"\xef\xbb\xbf")[:1] == b"<"
        before = len(found)
        found += _from_xml(name) if is_xml else _from_rows(name)
        if len(found) == before:
            raise InputError(f"{name} holds no questions; {_CQA_ORIGIN}")
    return found


@dataclass(frozen=True)
class _Row:
    """One question with one of its candidates."""

    question: str
    subject: str
    body: str
    candidate: tuple[str, str, str]
    relevant: bool


def _grouped(name: str, rows: Iterable[_Row]) -> Iterator[Question]:
    """Group rows by question; questions and candidates keep the order of their first row."""
    groups: dict[str, list[_Row]] = {}
    for row in rows:
        group = groups.setdefault(row.question, [])
        if any(row.candidate[0] == other.candidate[0] for other in group):
            raise InputError(
                f"{name} holds the candidate {row.candidate[0]!r} of {row.question!r} twice; expected each once"
            )
        group.append(row)
    for identifier, group in groups.items():
        yield Question(
            identifier,
            group[0].subject,
            group[0].body,
            tuple(row.candidate for row in group),
            tuple(row.relevant for row in group),
        )


def _from_rows(name: str) -> Iterator[Question]:
    rows = (_checked(name, line, row) for line, row in read_objects(name, _LONGEST))
    return _grouped(
        name,
        (
            _Row(
                r["orgq_id"],
                r["orgq_subject"],
                r["orgq_body"],
                (r["relq_id"], r["relq_subject"], r["relq_body"]),
                bool(r["relevant"]),
            )
            for r in rows
        ),
    )


def _checked(name: str, line: int, row: dict[str, Any]) -> dict[str, Any]:
    texts = ("orgq_id", "orgq_subject", "orgq_body", "relq_id", "relq_subject", "relq_body")
    missing = [field for field in texts if not isinstance(row.get(field), str)]
    if missing or row.get("relevant") not in (0, 1):
        raise RecordError(name, line, f"no {(missing or ['relevant 0 or 1'])[0]}; {_CQA_ORIGIN}")
    return row


def _from_xml(name: str) -> Iterator[Question]:
    with open_input(name) as file:
        text = file.read()
    # the declaration before <xml describes the root's grammar; ElementTree would take it for a second root
    body = text[text.index(b"<xml") :] if b"<xml" in text else text
    try:
        root = ElementTree.fromstring(body)  # noqa: S314 - without the grammar, removed above, no entity can be declared
    except ElementTree.ParseError as error:
        raise InputError(f"{name} is not XML: {error}; {_CQA_ORIGIN}") from error
    return _grouped(name, (_row_of(name, question) for question in root.iter("OrgQuestion")))


def _row_of(name: str, question: ElementTree.Element) -> _Row:
    related = question.find("Thread/RelQuestion")
    if related is None:
        raise InputError(f"{name} holds an OrgQuestion without a RelQuestion; {_CQA_ORIGIN}")
    label, candidate = related.get("RELQ_RELEVANCE2ORGQ"), related.get("RELQ_ID", "")
    if label not in _LABELS:
        raise InputError(
            f"{name} labels the candidate {candidate!r} {label!r}; expected {', '.join(_LABELS)}"
        )
    return _Row(
        question.get("ORGQ_ID", ""),
        question.findtext("OrgQSubject") or "",
        question.findtext("OrgQBody") or "",
        (candidate, related.findtext("RelQSubject") or "", related.findtext("RelQBody") or ""),
        _LABELS[label],
    )


def sentences_of(parts: Sequence[ScoredPairs]) -> list[str]:
    """Return all sentences; for each file the first sentences of the pairs, then the second ones."""
    return [text for part in parts for text in (*part.first, *part.second)]
