"""The data sets of SentEval's supervised transfer tasks (Conneau & Kiela 2018), in their published files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gem_index.errors import InputError, RecordError

__all__ = [
    "F32",
    "F64",
    "I64",
    "SCORES",
    "Examples",
    "check_classes",
    "read_examples",
    "target_distributions",
]

F32: TypeAlias = NDArray[np.float32]
F64: TypeAlias = NDArray[np.float64]
I64: TypeAlias = NDArray[np.int64]

Example: TypeAlias = tuple[tuple[str, ...], float]  # one text or two, and the class or the score

SCORES = np.arange(1.0, 6.0)
"""The whole scores of SICK's relatedness, float64 (5,)."""

_TREC_CLASSES = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
_SICK_CLASSES = ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")


@dataclass(frozen=True)
class Examples:
    """One part of a task, in the order of its files.

    Attributes
    ----------
    texts : tuple of list of str
        One list of n texts, or two for pairs.
    gold : float64 array (n,)
        The class from 0, or the score.
    """

    texts: tuple[list[str], ...]
    gold: F64


@dataclass(frozen=True)
class _Source:
    """The files of a task's data and the format of their lines.

    Attributes
    ----------
    parts : dict of str to tuple of str
        The files of each part below the folder of all tasks.
    layout, home : str
        The content of a file and the address of its publisher, for messages.
    parse : callable
        Takes a line and the position of its file in the part; raises ValueError with the problem.
    encoding : str
    header : tuple of str
        The tab-separated names in the first line, if there is one.
    also : tuple of str, optional
        A prefix of the paths, and an alternative prefix.
    """

    parts: dict[str, tuple[str, ...]]
    layout: str
    home: str
    parse: Callable[[str, int], Example]
    encoding: str = "utf-8-sig"
    header: tuple[str, ...] = ()
    also: tuple[str, str] | None = None


def read_examples(task: str, folder: Path) -> dict[str, Examples]:
    """Read the parts of a task: ``train``, ``dev`` if it exists, and ``test``, or ``all`` if there is no official split.

    An empty line of MR, CR, SUBJ and MPQA is an empty text: the published sizes of CR and MPQA include a few of them.

    Parameters
    ----------
    task : str
    folder : Path
        Holds a folder for each data set, as created by SentEval's download script: MR, CR, SUBJ, MPQA, SST, TREC, MRPC,
        SICK.

    Raises
    ------
    InputError
        If a file is missing or holds no examples; RecordError if a line is wrong.
    """
    source = _SOURCES[task]
    found = {}
    for part, names in source.parts.items():
        examples: list[Example] = []
        for place, name in enumerate(names):
            before = len(examples)
            examples += _read(folder, name, source, place)
            if len(examples) == before:
                raise InputError(f"{folder / name} holds no examples; expected {source.layout}")
        texts, gold = zip(*examples, strict=True)
        columns = tuple(list(column) for column in zip(*texts, strict=True))
        found[part] = Examples(columns, np.array(gold, dtype=np.float64))
    return found


def check_classes(task: str, parts: dict[str, Examples], folds: int) -> None:
    """Check that the first part of a task has at least two classes and enough examples of each for the folds.

    Raises
    ------
    InputError
        If it does not.
    """
    name, part = next(iter(parts.items()))
    classes, counts = np.unique(part.gold, return_counts=True)
    if len(classes) < 2 or counts.min() < folds:
        raise InputError(
            f"{task} ({name}) has {' + '.join(map(str, counts))} examples of {len(classes)} classes; "
            f"expected two classes or more and {folds} or more examples of each"
        )


def target_distributions(scores: F64) -> F64:
    """Return distributions (n, 5) over 1 … 5 with the scores (n,) as means (Tai et al. 2015, section 4.2).

    A score y gives the probability floor(y) - y + 1 to floor(y), and y - floor(y) to the next whole number.
    """
    return np.asarray(np.maximum(0, 1 - np.abs(scores[:, None] - SCORES)))


def _read(folder: Path, name: str, source: _Source, place: int) -> Iterator[Example]:
    path = folder / name
    if source.also and not path.exists():
        other = folder / name.replace(*source.also)
        path = other if other.exists() else path
    for number, line in _lines(path, source):
        if number == 1 and source.header:
            if tuple(line.split("\t")) != source.header:
                raise RecordError(
                    str(path),
                    1,
                    f"found the header {line[:60]!r}; expected {', '.join(source.header)}, tab-separated",
                )
            continue
        try:
            example = source.parse(line, place)
        except ValueError as error:
            raise RecordError(
                str(path), number, f"found {line[:60]!r}, {error}; expected {source.layout}"
            ) from error
        yield example


def _lines(path: Path, source: _Source) -> Iterator[tuple[int, str]]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"cannot read {path}: {error.strerror}; expected {source.layout}: SentEval's "
            f"data/downstream/get_transfer_data.bash downloads it, its home is {source.home}"
        ) from error
    # Not str.splitlines: it treats the Latin-1 byte 85, which MR and SUBJ contain within sentences, as a line end.
    lines = content.split(b"\n")
    for number, line in enumerate(lines[:-1] if not lines[-1] else lines, 1):
        try:
            yield number, line.decode(source.encoding).removesuffix("\r")
        except UnicodeDecodeError as error:
            raise RecordError(
                str(path), number, f"byte {error.start + 1} is not UTF-8; expected UTF-8 text"
            ) from error


def _parse_sentence(line: str, place: int) -> Example:
    return (line.strip(),), place


def _parse_sst(line: str, _: int) -> Example:
    text, label = _columns(line, 2)
    return (text.strip(),), _class_of(label, ("0", "1"))


def _parse_trec(line: str, _: int) -> Example:
    label, _space, question = line.partition(" ")
    coarse, colon, _fine = label.partition(":")
    if not (colon and question.strip()):
        raise ValueError("which is not a label and a question")
    return (question.strip(),), _class_of(coarse, _TREC_CLASSES)


def _parse_mrpc(line: str, _: int) -> Example:
    label, _first_id, _second_id, first, second = _columns(line, 5)
    return (first, second), _class_of(label, ("0", "1"))


def _parse_entailment(line: str, _: int) -> Example:
    _id, first, second, _score, label = _columns(line, 5)
    return (first, second), _class_of(label, _SICK_CLASSES)


def _parse_relatedness(line: str, _: int) -> Example:
    _id, first, second, score, _label = _columns(line, 5)
    value = float(score)
    if not SCORES[0] <= value <= SCORES[-1]:
        raise ValueError(f"whose score is {score}")
    return (first, second), value


def _columns(line: str, wanted: int) -> list[str]:
    columns = line.split("\t")
    if len(columns) != wanted:
        raise ValueError(f"which has {len(columns)} tab-separated columns")
    return columns


def _class_of(label: str, classes: Sequence[str]) -> int:
    if label.strip() not in classes:
        raise ValueError(f"whose label is {label.strip()[:20]!r}")
    return classes.index(label.strip())


def _polarity(negative: str, positive: str, home: str) -> _Source:
    return _Source(
        {"all": (negative, positive)},
        "one sentence per line, Latin-1, all of one class",
        home,
        _parse_sentence,
        encoding="latin-1",
    )


def _sick(parse: Callable[[str, int], Example]) -> _Source:
    return _Source(
        {
            "train": ("SICK/SICK_train.txt",),
            "dev": ("SICK/SICK_trial.txt",),
            "test": ("SICK/SICK_test_annotated.txt",),
        },
        "a header, then id, two sentences, a score from 1 to 5 and "
        "CONTRADICTION, NEUTRAL or ENTAILMENT, tab-separated UTF-8",
        "https://zenodo.org/records/2787612",
        parse,
        header=("pair_ID", "sentence_A", "sentence_B", "relatedness_score", "entailment_judgment"),
    )


_PABO = "https://www.cs.cornell.edu/people/pabo/movie-review-data"

_SOURCES = {
    "MR": _polarity("MR/rt-polarity.neg", "MR/rt-polarity.pos", _PABO),
    "CR": _polarity(
        "CR/custrev.neg",
        "CR/custrev.pos",
        "https://www.cs.uic.edu/~liub/FBS/sentiment-analysis.html",
    ),
    "SUBJ": _polarity("SUBJ/subj.objective", "SUBJ/subj.subjective", _PABO),
    "MPQA": _polarity("MPQA/mpqa.neg", "MPQA/mpqa.pos", "https://mpqa.cs.pitt.edu"),
    "SST": _Source(
        {part: (f"SST/sentiment-{part}",) for part in ("train", "dev", "test")},
        "a sentence, a tab and 0 or 1 on each line, UTF-8",
        "https://nlp.stanford.edu/sentiment",
        _parse_sst,
        also=("SST/", "SST/binary/"),  # where SentEval's script puts it
    ),
    "TREC": _Source(
        {"train": ("TREC/train_5500.label",), "test": ("TREC/TREC_10.label",)},
        f"CLASS:subclass and a question on each line, Latin-1, the class one of {', '.join(_TREC_CLASSES)}",
        "https://cogcomp.seas.upenn.edu/Data/QA/QC",
        _parse_trec,
        encoding="latin-1",
    ),
    "MRPC": _Source(
        {part: (f"MRPC/msr_paraphrase_{part}.txt",) for part in ("train", "test")},
        "a header, then 0 or 1, two ids and two sentences, tab-separated UTF-8",
        "https://www.microsoft.com/download/details.aspx?id=52398",
        _parse_mrpc,
        header=("Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"),
    ),
    "SICK-R": _sick(_parse_relatedness),
    "SICK-E": _sick(_parse_entailment),
}
