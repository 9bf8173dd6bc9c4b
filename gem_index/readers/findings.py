"""Count what reading some inputs found and changed, for notes of one line each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gem_index.errors import Action, Advice, Message
from gem_index.errors.quoting import quoted, quoted_path

__all__ = ["Findings"]

_SHOWN = 8


@dataclass
class Findings:
    """Counts of one reading.

    Attributes
    ----------
    texts : int
        Records with a text.
    cleaned : int
        Those whose text cleaning changed.
    markup : int
        Records whose text is clearly HTML and was not cleaned.
    repeated : int
        Records skipped because another record with the same id was chosen.
    misfits : Counter
        Values that do not fit their column's type, by column.
    encodings : dict
        Detected encoding of each input that is not UTF-8.
    forms : dict
        The forms that were recognised in each input.
    """

    texts: int = 0
    cleaned: int = 0
    markup: int = 0
    repeated: int = 0
    misfits: Counter[str] = field(default_factory=Counter)
    encodings: dict[str, str] = field(default_factory=dict)
    forms: dict[str, dict[str, None]] = field(default_factory=dict)

    def note_form(self, name: str, note: str) -> None:
        """Record what was recognised in an input; a second reading records it again."""
        self.forms.setdefault(name, {})[note] = None

    def notes(
        self, types: Mapping[str, str], clean: Sequence[str], duplicates: str
    ) -> Iterator[Message]:
        """Iterate over the notes for the user, one line each.

        Parameters
        ----------
        types : mapping
            Those that were decided.
        clean : sequence of str
            The steps of cleaning that were taken.
        duplicates : str
            Which record of an id counts.
        """
        for name, encoding in self.encodings.items():
            yield Message(f"{quoted_path(name)} is read as {encoding}; this encoding was detected.")
        for name, notes in self.forms.items():
            yield Message(f"{quoted_path(name)}: {_listed(list(notes), '; ')}.")
        if types:
            named = [f"{quoted(column)} {kind}" for column, kind in types.items()]
            yield Message(f"types of columns: {_listed(named)}; the others are text.")
        if self.misfits:
            named = [f"{quoted(column)} {count:,}" for column, count in self.misfits.most_common()]
            yield Message(
                f"values that do not fit the type of their column stay text: {_listed(named)}."
            )
        if clean and self.texts:
            yield Message(
                f"cleaning ({', '.join(clean)}) changed {self.cleaned:,} of {self.texts:,} texts."
            )
        elif self.markup:
            yield Message(
                f"{self.markup:,} of {self.texts:,} texts look like HTML and are used as they are",
                Advice(Action.CLEAN),
            )
        if self.repeated:
            yield Message(
                f"{self.repeated:,} records have the same id as another record; the {duplicates} record of each id is used."
            )


def _listed(named: list[str], separator: str = ", ") -> str:
    more = f" and {len(named) - _SHOWN:,} more" if len(named) > _SHOWN else ""
    return separator.join(named[:_SHOWN]) + more
