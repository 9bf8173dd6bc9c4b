"""Errors of names, ids and fingerprints: unknown, in use, repeated, or different from the expected one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from gem_index.errors.advice import Action, Advice
from gem_index.errors.base import InputError
from gem_index.errors.quoting import quoted

__all__ = [
    "CollectionReplacedError",
    "DuplicateIdError",
    "ExistingIdError",
    "FingerprintMismatchError",
    "KeyRefusedError",
    "NameTakenError",
    "UnknownNameError",
]


class UnknownNameError(InputError):
    """Nothing of that kind has that name.

    Parameters
    ----------
    kind : str
        ``collection``, ``model`` or ``vectors``.
    name : str
        The requested name.
    known : iterable of str
        The existing names, from which similar ones are suggested.
    advice : str or Advice
        What to do if no name is similar.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], advice: str | Advice) -> None:
        self.kind = kind
        self.name = name
        self.known = sorted(known)
        # the comparison takes time proportional to both lengths, and valid names are short
        near = difflib.get_close_matches(str(name)[:200], self.known, n=3, cutoff=0.5)
        if near:
            hint = f"did you mean {' or '.join(near)}?"
        elif self.known:
            hint = f"existing names: {', '.join(self.known[:8])}; {advice}"
        else:
            hint = f"there is none yet; {advice}"
        verb = "are" if kind.endswith("s") else "is"
        super().__init__(f"no {kind} {verb} named {quoted(name)}: {hint}")
        self.advice = advice if isinstance(advice, Advice) and not near else None


class CollectionReplacedError(UnknownNameError):
    """An open collection was dropped, and another one made under its name; :meth:`gem_index.Home.collection` opens that one.

    Parameters
    ----------
    name : str
    """

    def __init__(self, name: str) -> None:
        self.kind = "collection"
        self.name = name
        self.known = [name]
        InputError.__init__(
            self,
            f"the collection {quoted(name)} was dropped after it was opened, and another one was made under its name; "
            "expected the one that was opened",
            Advice(Action.OPEN_AGAIN, {"collection": name}),
        )


class NameTakenError(InputError):
    """The name is in use for something else."""


class KeyRefusedError(InputError):
    """A key of the HTTP server may not make or remove another key."""


class DuplicateIdError(InputError):
    """The same document id occurs twice in one call."""

    def __init__(self, document_id: str) -> None:
        super().__init__(
            f"the id {quoted(document_id)} occurs twice in one call; expected each id once: "
            "remove or rename one of the two documents"
        )
        self.document_id = document_id


class ExistingIdError(InputError):
    """A document's id is already stored, and documents must not be replaced."""

    def __init__(self, document_id: str) -> None:
        super().__init__(
            f"the id {quoted(document_id)} is stored already; expected a new id: "
            "choose another, or allow documents to be replaced"
        )
        self.document_id = document_id


class FingerprintMismatchError(InputError):
    """Vectors of two encoders, or of two sources, would be mixed.

    An encoder's fingerprint covers its word vectors, its configuration and its fit; a source's its words and rows.

    Parameters
    ----------
    what : str
        The object that was made with the expected vectors or encoder.
    expected, found : str
        Fingerprints.
    advice : str or Advice
        What to do.
    kind : {"vectors", "encoder"}
        What the fingerprints identify.
    """

    def __init__(
        self, what: str, expected: str, found: str, advice: str | Advice, *, kind: str = "vectors"
    ) -> None:
        made = {"vectors": "vectors", "encoder": "the encoder"}[kind]
        super().__init__(
            f"{what} was made with {made} {expected[:12]}, found {quoted(found[:12])[1:-1]}; {advice}"
        )
        self.advice = advice if isinstance(advice, Advice) else None
        self.expected = expected
        self.found = found
        self.kind = kind
