"""Learn labels from examples, and label the documents of a collection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gem_index.collection.corpus.labels import DocumentLabel, LabelQuality, Labels
from gem_index.collection.state.access import CollectionAccess, CollectionRows
from gem_index.collection.write.field_values import check_field_is_free, set_field
from gem_index.common.arrays import F32, F64
from gem_index.common.checks import check_number
from gem_index.errors import InputError, MissingExtraError
from gem_index.errors.quoting import quoted
from gem_index.progress import Progress
from gem_index.readers.examples import Example
from gem_index.sparse import SparseEncoder, WordFeatures
from gem_index.text.analyzer import Analyzer

__all__ = ["label_documents"]

_PARTS = 5  # the largest number of parts of the examples in cross-validation
_INVERSE_REGULARIZATION = 3.0
_BLOCK = 2000  # documents

Names = npt.NDArray[np.str_]


def label_documents(
    access: CollectionAccess,
    examples: Sequence[Example],
    field: str,
    where: Mapping[str, Any] | None,
    min_probability: float,
    dry_run: bool,
    replace: bool,
    show: Progress | None,
) -> Labels:
    """Label the documents of a collection; see :meth:`gem_index.Collection.label`."""
    check_number(min_probability, "min_probability", 0, 1, error=InputError)
    if not dry_run:
        check_field_is_free(access, field, where, replace)
    _scikit_learn()  # fails now if it is missing, not after minutes of encoding
    with access.reading() as rows:
        given = _given(rows, examples)
        texts, names = _training_set(rows, examples, given)
        vectors = access.encoder(rows).encode(texts)
        analyzer = rows.record.analyzer
        predicted, parts = _cross_validated(texts, vectors, names, analyzer, show)
        classifier = _Classifier(texts, vectors, names, analyzer)
        documents = rows.documents
        seqs = documents.accepted(where) if where else documents.seqs()
        labels = _labels(access, rows, seqs.tolist(), given, classifier, show)
        kept = [each for each in labels if each.probability >= min_probability]
    found = _measured(kept, names, predicted, parts, len(seqs) - len(kept))
    if not dry_run:
        found.changed = set_field(access, field, found.field_values(), where, replace, show)
    return found


def _scikit_learn() -> Any:
    try:
        import sklearn.linear_model  # type: ignore[import-untyped, unused-ignore]
        import sklearn.metrics
        import sklearn.model_selection
    except ImportError as error:
        raise MissingExtraError("labels", "label") from error
    return sklearn


def _given(rows: CollectionRows, examples: Sequence[Example]) -> dict[int, str]:
    """Return the labels of the examples that are documents of the collection, by seq."""
    seqs = rows.documents.seqs_of([each.id for each in examples if each.id is not None])
    given: dict[int, str] = {}
    for example in examples:
        if example.id is None or (example.id not in seqs and example.text):
            continue
        if example.id not in seqs:
            raise InputError(
                f"the examples name {quoted(example.id)}, which the collection {rows.record.name} does not have; expected "
                "ids of its documents, or texts"
            )
        known = given.setdefault(seqs[example.id], example.label)
        if known != example.label:
            raise InputError(
                f"the examples give {quoted(example.id)} the labels {quoted(known)} and {quoted(example.label)}; expected "
                "one label per document"
            )
    return given


def _training_set(
    rows: CollectionRows, examples: Sequence[Example], given: Mapping[int, str]
) -> tuple[list[str], Names]:
    """Return distinct texts with their labels; a text with two labels occurs twice.

    Raises
    ------
    InputError
        If there are fewer than two labels, or a label has only one text.
    """
    stored = rows.documents.by_seq(list(given))
    known = {document.document_id for document in stored.values()}
    pairs = dict.fromkeys((stored[seq].text, label) for seq, label in given.items())
    pairs |= dict.fromkeys(
        (each.text, each.label) for each in examples if each.text and each.id not in known
    )
    sizes = Counter(label for _, label in pairs)
    if len(sizes) < 2:
        raise InputError(
            f"found only examples with the label {quoted(next(iter(sizes)))}; expected at least two labels"
        )
    rare, count = sizes.most_common()[-1]
    if count < 2:
        raise InputError(
            f"found one text with the label {quoted(rare)}; expected at least two of each label, to learn from one and "
            "measure with the other: add examples, or leave the label out"
        )
    return [text for text, _ in pairs], np.array([label for _, label in pairs])


class _Classifier:
    """Logistic regression on the vectors and the words of texts."""

    def __init__(
        self, texts: Sequence[str], vectors: F32, names: Names, analyzer: Analyzer
    ) -> None:
        model = _scikit_learn().linear_model.LogisticRegression
        self._words = WordFeatures(SparseEncoder.fit(texts, analyzer), texts)
        self._model = model(C=_INVERSE_REGULARIZATION, max_iter=1000)
        self._model.fit(self._words.beside(vectors, texts), names)

    def predict(self, texts: Sequence[str], vectors: F32) -> Iterator[tuple[str, float] | None]:
        """Iterate over the best label and its probability for each text; None for a text without a known word."""
        features = self._words.beside(vectors, texts)
        found: F64 = self._model.predict_proba(features)
        best = found.argmax(axis=1)
        for row, place, size in zip(found, best.tolist(), np.diff(features.indptr), strict=True):
            yield (str(self._model.classes_[place]), float(row[place])) if size else None


def _cross_validated(
    texts: Sequence[str], vectors: F32, names: Names, analyzer: Analyzer, show: Progress | None
) -> tuple[Names, int]:
    """Return, for each text, the label by a classifier that learned from other texts; also return the number of parts."""
    parts = min(_PARTS, min(Counter(names.tolist()).values()))
    split = _scikit_learn().model_selection.StratifiedKFold
    predicted = names.copy()
    commonest = Counter(names.tolist()).most_common(1)[0][0]
    divided = split(parts, shuffle=True, random_state=0).split(texts, names)
    for done, (taught, left) in enumerate(divided, 1):
        classifier = _Classifier(
            [texts[i] for i in taught], vectors[taught], names[taught], analyzer
        )
        found = classifier.predict([texts[i] for i in left], vectors[left])
        predicted[left] = [commonest if each is None else each[0] for each in found]
        if show is not None:
            show("learn", done, parts)
    return predicted, parts


def _labels(
    access: CollectionAccess,
    rows: CollectionRows,
    seqs: Sequence[int],
    given: Mapping[int, str],
    classifier: _Classifier,
    show: Progress | None,
) -> Iterator[DocumentLabel]:
    """Iterate over the labels of documents: an example keeps its given label, the classifier chooses the other labels."""
    encoder = access.encoder(rows)
    for begin in range(0, len(seqs), _BLOCK):
        block = seqs[begin : begin + _BLOCK]
        stored = list(rows.documents.by_seq(block).values())
        texts = [document.text for document in stored]
        predicted = classifier.predict(texts, encoder.encode(texts))
        for document, found in zip(stored, predicted, strict=True):
            if document.seq in given:
                yield DocumentLabel(document.document_id, given[document.seq], 1.0, True)
            elif found is not None:
                yield DocumentLabel(document.document_id, *found, False)
        if show is not None:
            show("label", begin + len(block), len(seqs))


def _measured(
    labels: Sequence[DocumentLabel], names: Names, predicted: Names, parts: int, unlabeled: int
) -> Labels:
    from scipy.stats import binomtest

    metrics = _scikit_learn().metrics
    order = [name for name, _ in Counter(names.tolist()).most_common()]
    precision, recall, _, sizes = metrics.precision_recall_fscore_support(
        names, predicted, labels=order, zero_division=0
    )
    qualities = [
        LabelQuality(name, int(size), float(exact), float(found))
        for name, size, exact, found in zip(order, sizes, precision, recall, strict=True)
    ]
    right = int((names == predicted).sum())
    low, high = binomtest(right, len(names)).proportion_ci(method="wilson")
    interval = (float(low), float(high))
    return Labels(labels, qualities, right / len(names), interval, parts, unlabeled)
