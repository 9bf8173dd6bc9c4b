"""The questions about all texts of a collection, as methods of :class:`~gem_index.Collection`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gem_index.collection.corpus.drift import Drift
from gem_index.collection.corpus.results import DocumentMap, DuplicateGroups, MapColors
from gem_index.collection.corpus.topic_list import Topics
from gem_index.collection.request import NEAR
from gem_index.collection.state.access import CollectionAccess
from gem_index.progress import ProgressOption, reporting

__all__ = ["CorpusQuestions"]


class CorpusQuestions:
    """Duplicates, topics, drift and maps of a collection.

    Their modules are imported when they are asked for, because a process that searches asks for none of them.

    Attributes
    ----------
    access : CollectionAccess
    """

    access: CollectionAccess

    def duplicates(
        self,
        threshold: float = NEAR,
        *,
        where: Mapping[str, Any] | None = None,
        progress: ProgressOption = None,
    ) -> DuplicateGroups:
        """Return the groups of documents that say nearly the same.

        Documents of equal text, and pairs whose cosine reaches the threshold, are in one group: all pairs are tested, and
        near pairs form chains, whose ends may be less near than the threshold.

        Parameters
        ----------
        threshold : float
            Above 0, at most 1; cosines are compared up to rounding, 1e-6.
        where : mapping, optional
            A filter as for :meth:`search`: only documents that it accepts are compared.
        progress : bool or callable, optional
            As for :meth:`upsert`.

        Returns
        -------
        DuplicateGroups
            A list of :class:`DuplicateGroup`, the largest first.

        Raises
        ------
        InputError
            If the threshold is out of its range.
        FilterError
            If the filter is not of the documented form.
        """
        from gem_index.collection.corpus.duplicates import duplicates_of

        with reporting(progress, "read") as show:
            return duplicates_of(self.access, threshold, where, show)

    def topics(
        self,
        n: int | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        progress: ProgressOption = None,
    ) -> Topics:
        """Return what the documents are about: clusters of their vectors, each named by its words.

        The same documents give the same topics. Equal texts count once for the clusters, and each for itself in the numbers.

        Parameters
        ----------
        n : int, optional
            How many topics; by default the root of an eighth of the number of different texts, 24 at most.
        where : mapping, optional
            A filter as for :meth:`search`: only documents that it accepts are looked at.
        progress : bool or callable, optional
            As for :meth:`upsert`.

        Returns
        -------
        Topics
            A list of :class:`Topic`, the largest first, with a method that draws a map.

        Raises
        ------
        InputError
            If n is below 1, or there are fewer different texts with words.
        FilterError
            If the filter is not of the documented form.
        MissingExtraError
            If scikit-learn is not installed.
        """
        from gem_index.collection.corpus.topics import topics_of

        with reporting(progress, "read") as show:
            return topics_of(self.access, n, where, show)

    def document_map(self) -> DocumentMap | None:
        """Return the map that was made since the last refit, None if there is none; see :meth:`make_map`."""
        from gem_index.collection.corpus.document_map import kept_map

        return kept_map(self.access)

    def map_colors(self, made: DocumentMap, name: str) -> MapColors:
        """Return groups of a map's documents by a metadata field: its most frequent values, or ranges of numbers.

        Parameters
        ----------
        made : DocumentMap
        name : str
            A field; one that no document has gives a single group.
        """
        from gem_index.collection.corpus.document_map import colors_of

        return colors_of(self.access, made, name)

    def make_map(self, progress: ProgressOption = None) -> DocumentMap:
        """Give documents places in the plane, near those of documents that say the like, and keep them until the next refit.

        The places are a t-SNE (van der Maaten and Hinton, 2008) of the vectors, computed by openTSNE from the principal
        components; the same documents give the same places on one machine. Of a collection with more than 100,000
        different texts that many have a place, at even intervals.

        Parameters
        ----------
        progress : bool or callable, optional
            As for :meth:`upsert`.

        Raises
        ------
        InputError
            If no document holds a word, or the collection is refitted meanwhile.
        MissingExtraError
            If openTSNE is not installed.
        """
        from gem_index.collection.corpus.document_map import make_map

        with reporting(progress, "read") as show:
            return make_map(self.access, show)

    def drift(self, sample: int = 5000, progress: ProgressOption = None) -> Drift:
        """Measure how far the texts have moved from those that the model was fitted on.

        The model is compared with one fitted on all present texts, which is what a refit would give: a fit on a sample
        would differ by its size alone. It takes as long as the fit, not as a refit, which encodes and indexes as well.

        Parameters
        ----------
        sample : int
            Upper bound on the documents whose pairwise cosines are compared, taken at even intervals.
        progress : callable, optional
            Called with stage, done and total.

        Raises
        ------
        InputError
            If there are no documents.
        """
        from gem_index.collection.corpus.drift import drift_of

        return drift_of(self.access, sample, progress)
