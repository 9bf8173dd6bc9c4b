"""The labels of documents, as :meth:`gem_index.Collection.label` returns them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from gem_index.common.notebook import html_table
from gem_index.files.tables import Tabular

__all__ = ["DocumentLabel", "LabelQuality", "Labels"]


@dataclass(frozen=True)
class DocumentLabel:
    """The label of a document.

    Attributes
    ----------
    id : str
    label : str
    probability : float
        The classifier's probability of the label; 1 for an example.
    example : bool
        Whether a person gave the label.
    """

    id: str
    label: str
    probability: float
    example: bool


@dataclass(frozen=True)
class LabelQuality:
    """How well the classifier finds the documents of a label, in cross-validation.

    Attributes
    ----------
    label : str
    examples : int
    precision : float
        Among the examples to which the classifier gave this label, the share that is right; 0 without such examples.
    recall : float
        Among the examples that have this label, the share to which the classifier gave this label.
    """

    label: str
    examples: int
    precision: float
    recall: float


class Labels(list[DocumentLabel], Tabular):
    """The labels of the documents, in the order in which the documents were stored; a table with a row for each document.

    Parameters
    ----------
    labels : iterable of DocumentLabel
    qualities : iterable of LabelQuality
        The quality of each label, the most frequent label first.
    accuracy : float
        The share of the examples that are labeled correctly by a classifier that learned from other examples.
    interval : tuple of float
        The 95 % interval of the accuracy (Wilson, 1927).
    parts : int
        The number of parts into which cross-validation divided the examples.
    unlabeled : int
        The number of documents that get no label, because they have no word or the probability is too low.

    Attributes
    ----------
    qualities, accuracy, interval, parts, unlabeled
        As above.
    changed : int
        The number of documents in which the label changed the field.
    """

    def __init__(
        self,
        labels: Iterable[DocumentLabel],
        qualities: Iterable[LabelQuality],
        accuracy: float,
        interval: tuple[float, float],
        parts: int,
        unlabeled: int,
    ) -> None:
        super().__init__(labels)
        self.qualities = tuple(qualities)
        self.accuracy = accuracy
        self.interval = interval
        self.parts = parts
        self.unlabeled = unlabeled
        self.changed = 0

    columns = ("id", "label", "probability", "example")

    def rows(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows of the documents."""
        return (asdict(each) for each in self)

    @property
    def baseline(self) -> float:
        """The accuracy of a classifier that always chooses the most frequent label."""
        sizes = [each.examples for each in self.qualities]
        return max(sizes) / sum(sizes)

    def field_values(self) -> dict[str, str]:
        """Return the label of each document id, for :meth:`gem_index.Collection.set_field`."""
        return {each.id: each.label for each in self}

    def _repr_html_(self) -> str:
        return html_table(
            ("label", "examples", "precision", "recall", "documents"),
            (
                (
                    each.label,
                    each.examples,
                    f"{each.precision:.2f}",
                    f"{each.recall:.2f}",
                    sum(document.label == each.label for document in self),
                )
                for each in self.qualities
            ),
        )
