"""Methods of :class:`~gem_index.Collection` that read all texts of the collection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem_index.collection.corpus.drift import Drift
from gem_index.collection.corpus.duplicates_request import OVERLAP, SINGLE, VIEWS, DuplicatesRequest
from gem_index.collection.corpus.labels import Labels
from gem_index.collection.corpus.results import DocumentMap, DuplicateGroups, MapColors
from gem_index.collection.corpus.topic_list import Topics
from gem_index.collection.request import NEAR
from gem_index.collection.state.access import CollectionAccess
from gem_index.collection.state.calibration import Calibration, calibration_of
from gem_index.progress import ProgressOption, reporting

if TYPE_CHECKING:
    from gem_index.sparse import SparseEncoder

__all__ = ["CorpusQuestions"]


class CorpusQuestions:
    """Duplicates, topics, labels, drift, maps and calibration of a collection.

    The modules of these operations are imported on first use, because a process that only searches does not need them.

    Attributes
    ----------
    access : CollectionAccess
    """

    access: CollectionAccess

    def sparse_encoder(self, progress: ProgressOption = None) -> SparseEncoder:
        """Return an encoder of sparse vectors for a vector database, with the word statistics of this collection.

        All present texts are read, and each piece counts as a text. A document with several pieces has a sparse and a
        dense vector for each piece; see :mod:`gem_index.sparse`.
        """
        from gem_index.collection.state.word_statistics import fit_sparse_encoder

        with reporting(progress, "read") as show:
            return fit_sparse_encoder(self.access, show)

    def duplicates(
        self,
        threshold: float = NEAR,
        *,
        views: str | Sequence[str] = VIEWS,
        overlap: float = OVERLAP,
        contrasts: bool = False,
        link: str = SINGLE,
        where: Mapping[str, Any] | None = None,
        progress: ProgressOption = None,
    ) -> DuplicateGroups:
        """Return the groups of near-duplicates, by their wording and by their meaning.

        Two documents are in one group if their texts are equal, if their wordings overlap enough, or if their cosine is
        at least the threshold. All pairs are tested. A group can be a chain: A is near B, B is near C, but A is not
        near C.

        Vectors cannot distinguish "I can log in" from "I can not log in". So two texts of at most 100 characters are
        not compared if their numbers differ, or if only one of them has a negation. Such short texts are also
        put into different groups if they differ by opposites ("open" and "close", "on" and "off"), by a direction ("Paris to
        London") or by the order of the same words. Negations are known in 15 languages, opposites in nine.

        In the wording, marks of replies ("Re:", "FWD:") and a closing greeting with a name are ignored.

        Parameters
        ----------
        threshold : float
            The near-duplicate threshold of the meaning, a cosine above 0 and at most 1. A cosine also counts if it is
            below the threshold only by a rounding error of at most 1e-6.
        views : str or sequence of str
            ``wording``, ``meaning`` or both.
        overlap : float
            The near-duplicate threshold of the wording, above 0 and at most 1. The overlap of two texts is the number
            of trigrams that both have, divided by the number of trigrams that at least one has (the Jaccard
            similarity). Case and punctuation are ignored.
        contrasts : bool
            Also join texts that differ by a number, a negation, opposites or the order of the same words. The
            ``contrasts`` of a group show such differences.
        link : {"single", "complete"}
            ``single``: a group can be a chain. ``complete``: there are no chains, because every two documents of a
            group are near in at least one view.
        where : mapping, optional
            A filter as for :meth:`search`; only accepted documents are compared.
        progress : bool or callable, optional
            As for :meth:`upsert`.

        Returns
        -------
        DuplicateGroups
            A list of :class:`DuplicateGroup`, the largest first.

        Raises
        ------
        InputError
            If a threshold is out of its range, or a view or the link is unknown.
        FilterError
            If the filter is not of the documented form.
        """
        from gem_index.collection.corpus.duplicates import duplicates_of

        request = DuplicatesRequest.of(threshold, views, overlap, contrasts, link)
        with reporting(progress, "read") as show:
            return duplicates_of(self.access, request, where, show)

    def topics(
        self,
        n: int | None = None,
        *,
        main: int | None = None,
        labels: Sequence[str] = (),
        where: Mapping[str, Any] | None = None,
        progress: ProgressOption = None,
    ) -> Topics:
        """Return the topics of the documents: k-means groups the vectors, and each topic is named by its words.

        The same documents give the same topics. k-means uses equal texts only once, but the size of a topic is the number
        of its documents.

        Parameters
        ----------
        n : int, optional
            The number of topics. Default: √(distinct texts / 8), at most 24.
        main : int, optional
            The number of main topics, which are groups of near topics. The attribute ``main`` of the result lists them.
            By default, there are no main topics.
        labels : sequence of str, optional
            Possible names of the topics: the ``name`` of each topic is the label whose vector is nearest to the topic's
            center. By default, the name is the topic's first words.
        where : mapping, optional
            A filter as for :meth:`search`; only accepted documents are read.
        progress : bool or callable, optional
            As for :meth:`upsert`.

        Returns
        -------
        Topics
            A list of :class:`Topic`, the largest first, with a method that draws a map.

        Raises
        ------
        InputError
            If ``n`` is below 1 or above the number of distinct texts with words, if ``main`` is below 1 or above the
            number of topics, or if a label has no word.
        FilterError
            If the filter is not of the documented form.
        MissingExtraError
            If scikit-learn is not installed.
        """
        from gem_index.collection.corpus.topics import topics_of

        with reporting(progress, "read") as show:
            return topics_of(self.access, n, main, labels, where, show)

    def label(
        self,
        examples: str | Path | Iterable[Any],
        field: str = "label",
        *,
        where: Mapping[str, Any] | None = None,
        min_probability: float = 0.0,
        dry_run: bool = False,
        replace: bool = False,
        progress: ProgressOption = None,
    ) -> Labels:
        """Learn from labeled examples, label all documents, and write the labels as a metadata field.

        The classifier is logistic regression on the vectors and the words of the texts. Cross-validation measures its
        accuracy: the examples are divided into at most five parts, and each part is labeled by a classifier that
        learned from the other parts.

        Parameters
        ----------
        examples : str, Path or iterable
            A file (.csv, .tsv, .xlsx, .parquet, .jsonl, .json), a data frame, or mappings. Each record has the label in
            the field ``label``, or in a field with the name that ``field`` gives. The record also has the ``id`` of a
            document, a ``text``, or both.
        field : str
            The metadata field for the labels; see :meth:`gem_index.Collection.set_field`. A document that is an example
            gets the label of the example.
        where : mapping, optional
            A filter as for :meth:`search`; only accepted documents get labels.
        min_probability : float
            If the probability of a document's best label is lower, the document gets no label.
        dry_run : bool
            Do not write the labels.
        replace : bool
            If documents already have the field: True replaces its value, False raises an error.
        progress : bool or callable, optional
            As for :meth:`upsert`.

        Returns
        -------
        Labels
            A list of :class:`DocumentLabel`, with the accuracy and the quality of each label.

        Raises
        ------
        InputError
            If there are fewer than two labels, a label has only one text, an example is not in the collection or has two
            labels, or a document has the field and ``replace`` is not set; RecordError if a record has another form.
        FilterError
            If the filter is not of the documented form.
        MissingExtraError
            If scikit-learn is not installed.
        """
        from gem_index.collection.corpus.labeling import label_documents
        from gem_index.readers.examples import read_examples

        known = read_examples(examples, field)
        with reporting(progress, "learn") as show:
            return label_documents(
                self.access, known, field, where, min_probability, dry_run, replace, show
            )

    def document_map(self) -> DocumentMap | None:
        """Return the map of the present fit; None if no map is stored; see :meth:`make_map`."""
        from gem_index.collection.corpus.document_map import kept_map

        return kept_map(self.access)

    def map_colors(self, made: DocumentMap, name: str) -> MapColors:
        """Group the documents of a map by a metadata field: by its most frequent values, or by ranges of numbers.

        Parameters
        ----------
        made : DocumentMap
        name : str
            The name of a field. If no document has the field, there is one group.
        """
        from gem_index.collection.corpus.document_map import colors_of

        return colors_of(self.access, made, name)

    def make_map(self, progress: ProgressOption = None) -> DocumentMap:
        """Place the documents on a plane, with similar documents near each other, and store the map until the next refit.

        The places are a t-SNE (van der Maaten and Hinton, 2008) of the vectors. openTSNE computes the t-SNE, and starts
        from the principal components. On one machine, the same documents give the same places. At most
        200,000 distinct texts get a place; if there are more, the texts are taken at even intervals.

        Parameters
        ----------
        progress : bool or callable, optional
            As for :meth:`upsert`.

        Raises
        ------
        InputError
            If no document has a word, or the collection is refitted meanwhile.
        MissingExtraError
            If openTSNE is not installed.
        """
        from gem_index.collection.corpus.document_map import make_map

        with reporting(progress, "read") as show:
            return make_map(self.access, show)

    def calibrate(
        self,
        queries: str | Path | Iterable[Any] | None = None,
        progress: ProgressOption = None,
    ) -> Calibration:
        """Measure and store the score below which results are weak; later searches tell which results are weak.

        Each search mode has its own score. With queries, this is the lowest score for which at most one in ten of the
        first results at or above it is wrong. Without queries, twelve consecutive words of a document are a
        query, for at most 1,000 documents; the document itself is removed from the results of its query. The score is
        then chosen such that for seven in ten queries no result reaches the score.

        A new model, chunking or language makes the calibration void. New documents do not make it void.

        Parameters
        ----------
        queries : str, Path or iterable, optional
            Queries with the ids of their right documents. The queries are a file (.csv, .tsv, .xlsx, .parquet, .jsonl,
            .json), a data frame, mappings with ``query`` and ``expected``, or pairs (query, ids). ``expected`` is one
            id or a list of ids; it is empty if no document is right.
        progress : bool or callable, optional
            As for :meth:`upsert`.

        Raises
        ------
        InputError
            If there are fewer than ten queries; if no queries are given and fewer than ten documents have words; or if an
            expected document is not in the collection. RecordError if a record has another form.
        """
        from gem_index.collection.corpus.calibrating import calibrate
        from gem_index.readers.expected import read_expected

        known = None if queries is None else read_expected(queries)
        with reporting(progress, "search") as show:
            return calibrate(self.access, known, show)

    @property
    def calibration(self) -> Calibration | None:
        """The result of the last :meth:`calibrate`; None if there is no calibration, or if the calibration is void."""
        with self.access.reading() as rows:
            return calibration_of(rows.record, rows.index_fingerprint())

    def draw_map(
        self,
        path: str | Path,
        *,
        color: str | None = None,
        again: bool = False,
        progress: ProgressOption = None,
    ) -> DocumentMap:
        """Write the map to a file; if no map is stored, make one first, as :meth:`make_map` does.

        Each group of documents has a separate mark (a color and a shape); the legend explains the marks.

        Parameters
        ----------
        path : str or Path
            A page (``.html``), a picture (``.png``, ``.svg``, ``.pdf``) or a table (``.csv``). The page needs no other
            files, and shows the text under the pointer. The table has the id, x and y from 0 to 1, and the number and
            name of the group.
        color : str, optional
            A metadata field whose values are the groups: see :meth:`map_colors`. By default the groups are topics.
        again : bool
            Make the map again, for example because documents were added.
        progress : bool or callable, optional
            As for :meth:`upsert`.

        Returns
        -------
        DocumentMap
            The map. If its ``documents`` is larger than the number of its ``ids``, some documents have no place.

        Raises
        ------
        InputError
            If the name has another ending, if the file cannot be written, or if no document has the field or a word.
        MissingExtraError
            If openTSNE is not installed, or if the map is a picture and matplotlib is not installed.
        """
        from gem_index.collection.corpus.document_map import draw_map

        with reporting(progress, "read") as show:
            return draw_map(self.access, path, color, again, show)

    def drift(self, sample: int = 5000, progress: ProgressOption = None) -> Drift:
        """Measure how much a refit would change the cosines, and whether the new documents are about new subjects.

        The model is compared with a model that is fitted on all present texts, as in a refit. A fit on a sample would
        differ only because the sample is smaller. So the measurement takes as long as a fit. A refit takes longer,
        because it also encodes and indexes the texts.

        To find new subjects, the texts that came after the fit are compared with the texts of the fit, by their nearest
        neighbors; see :class:`gem_index.results.Novelty`. This comparison needs at least 20 new and 20 fitted texts.
        The comparison uses at most 5,000 new and 10,000 fitted texts.

        Parameters
        ----------
        sample : int
            The largest number of documents to compare in pairs. If there are more, documents are taken at even
            intervals.
        progress : callable, optional
            Called with stage, done and total.

        Raises
        ------
        InputError
            If there are no documents.
        """
        from gem_index.collection.corpus.drift import drift_of

        return drift_of(self.access, sample, progress)
