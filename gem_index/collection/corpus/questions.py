"""Methods of :class:`~gem_index.Collection` that read all its texts."""

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

    Their modules are imported on use, because a process that only searches needs none of them.

    Attributes
    ----------
    access : CollectionAccess
    """

    access: CollectionAccess

    def sparse_encoder(self, progress: ProgressOption = None) -> SparseEncoder:
        """Return an encoder of sparse word vectors with this collection's statistics, for a vector database.

        The statistics are computed from the present texts, piece by piece; all texts are read. A document of several pieces
        has a sparse and a dense vector for each piece: see :mod:`gem_index.sparse`.
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

        Two documents are in one group if their texts are equal, if their wordings overlap enough, or if their cosine is at
        least the threshold; all pairs are tested. A group can be a chain (A near B, B near C), whose ends are further apart.

        Vectors cannot tell "I can log in" from "I can not log in". So two texts of at most 100 characters are not compared
        if their numbers differ, or only one has a negation. Texts that differ by opposites ("open" and "close", "on" and
        "off"), by a direction ("Paris to London") or by the order of the same words are not in one group. Lists of words
        find negations in 15 languages, and opposites in nine.

        For the wording, marks of replies ("Re:", "FWD:") and a closing greeting with a name do not count.

        Parameters
        ----------
        threshold : float
            Near-duplicate threshold of the meaning, above 0 and at most 1; cosines are compared up to rounding, 1e-6.
        views : str or sequence of str
            ``wording``, ``meaning`` or both.
        overlap : float
            Near-duplicate threshold of the wording, above 0 and at most 1: the number of trigrams that both texts have,
            divided by the number of trigrams that one or both have (the Jaccard similarity). Case and punctuation do not
            count.
        contrasts : bool
            Also compare texts that differ by a number, a negation, opposites or the order of the same words. Each such
            document is marked in ``contrasts``.
        link : {"single", "complete"}
            ``complete``: every two documents of a group are near, in at least one of the views, so that there are no chains.
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
        """Return the topics of the documents: groups of their vectors by k-means, each named by its words.

        The same documents give the same topics. Equal texts count once for k-means, but the size of a topic counts every
        document.

        Parameters
        ----------
        n : int, optional
            Number of topics; by default √(distinct texts / 8), at most 24.
        main : int, optional
            Number of main topics, which are groups of near topics; the attribute ``main`` of the result lists them. By
            default the topics are not grouped.
        labels : sequence of str, optional
            Names to choose from: the ``name`` of each topic is the label whose vector is nearest to the center of the topic.
            By default it is the topic's first words.
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
            If n is below 1, or larger than the number of distinct texts with words; if main is below 1, or larger than the
            number of topics; or if a label has no word.
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
        """Learn labels from some labeled documents or texts, give them to all documents, and write them as a field.

        The classifier is logistic regression on the vectors and the words of the texts. How often it is right is measured by
        cross-validation: the examples are divided into at most five parts, and each part is labeled by a classifier that
        learned from the others.

        Parameters
        ----------
        examples : str, Path or iterable
            A file (.csv, .tsv, .xlsx, .parquet, .jsonl, .json), a data frame, or mappings. A record has the label in
            ``label`` or in a field with the name of ``field``, and the ``id`` of a document, a ``text``, or both.
        field : str
            The field of the metadata that gets the labels; see :meth:`gem_index.Collection.set_field`. Documents among the
            examples get the label of their example.
        where : mapping, optional
            A filter as for :meth:`search`; only accepted documents get labels.
        min_probability : float
            A document whose best label has a lower probability gets no label.
        dry_run : bool
            Write nothing.
        replace : bool
            Whether documents may have the field already.
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
        """Return the map of the present fit, None if there is none; see :meth:`make_map`."""
        from gem_index.collection.corpus.document_map import kept_map

        return kept_map(self.access)

    def map_colors(self, made: DocumentMap, name: str) -> MapColors:
        """Return groups of a map's documents by a metadata field: its most frequent values, or ranges of numbers.

        Parameters
        ----------
        made : DocumentMap
        name : str
            The name of a field; if no document has it, there is one group.
        """
        from gem_index.collection.corpus.document_map import colors_of

        return colors_of(self.access, made, name)

    def make_map(self, progress: ProgressOption = None) -> DocumentMap:
        """Place the documents on a plane, similar ones near each other, and store the map until the next refit.

        The places are a t-SNE (van der Maaten and Hinton, 2008) of the vectors, computed by openTSNE from the principal
        components; the same documents give the same places on one machine. If a collection has more than 200,000 distinct
        texts, 200,000 of them, at even intervals, get a place.

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
        """Measure which scores are weak, store them, and return them; every later search tells which results are weak.

        With queries, the score of a mode is the lowest one that still has at most one wrong in ten first results at or above
        it. Without queries, each query is twelve consecutive words of a document (of at most 1,000 documents), and this
        document is left out of the results. Then seven in ten queries have no result that reaches the score.

        A new model, chunking or language makes the calibration void; later documents do not.

        Parameters
        ----------
        queries : str, Path or iterable, optional
            Queries with the ids of their right documents: a file (.csv, .tsv, .xlsx, .parquet, .jsonl, .json), a data frame,
            mappings with ``query`` and ``expected``, or pairs (query, ids). ``expected`` is one id, a list of ids, or empty
            if no document is right.
        progress : bool or callable, optional
            As for :meth:`upsert`.

        Raises
        ------
        InputError
            If there are fewer than ten queries or documents with words, or the collection does not have an expected
            document; RecordError if a record has another form.
        """
        from gem_index.collection.corpus.calibrating import calibrate
        from gem_index.readers.expected import read_expected

        known = None if queries is None else read_expected(queries)
        with reporting(progress, "search") as show:
            return calibrate(self.access, known, show)

    @property
    def calibration(self) -> Calibration | None:
        """The result of the last :meth:`calibrate`; None before the first, and if the result is void."""
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
        """Write the map to a file: the stored one, or a new one if there is none; see :meth:`make_map`.

        Each group of documents has a mark of its own (a color and a shape), which the legend explains.

        Parameters
        ----------
        path : str or Path
            A page (``.html``), which needs no other files and shows the text under the pointer; a picture (``.png``,
            ``.svg``, ``.pdf``); or a table (``.csv``) with id, x and y from 0 to 1, and the number and name of the group.
        color : str, optional
            A metadata field whose values are the groups: see :meth:`map_colors`. By default the groups are topics.
        again : bool
            Make the map again, for example because documents were added.
        progress : bool or callable, optional
            As for :meth:`upsert`.

        Returns
        -------
        DocumentMap
            The map. If its ``documents`` are more than its ``ids``, some documents have no place.

        Raises
        ------
        InputError
            If the name has another ending, the file cannot be written, no document has the field, or no document has a word.
        MissingExtraError
            If openTSNE is not installed; or matplotlib, if the map is a picture.
        """
        from gem_index.collection.corpus.document_map import draw_map

        with reporting(progress, "read") as show:
            return draw_map(self.access, path, color, again, show)

    def drift(self, sample: int = 5000, progress: ProgressOption = None) -> Drift:
        """Measure how much a refit would change the cosines, and whether the new documents are about new subjects.

        The model is compared with one that is fitted on all present texts, as a refit does (a fit on a sample would differ
        because of its size). This takes as long as a fit; a refit also encodes and indexes.

        For new subjects, the texts that came after the fit are compared with the texts of the fit, by their nearest
        neighbors: see :class:`gem_index.results.Novelty`. This part needs at least 20 new and 20 fitted texts, and compares
        at most 5,000 new and 10,000 fitted texts.

        Parameters
        ----------
        sample : int
            The largest number of documents to compare in pairs; they are taken at even intervals.
        progress : callable, optional
            Called with stage, done and total.

        Raises
        ------
        InputError
            If there are no documents.
        """
        from gem_index.collection.corpus.drift import drift_of

        return drift_of(self.access, sample, progress)
