"""The configuration of GEM: the paper's four parameters, its ablations, the background prior and the tokenizer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, Self, get_args

from gem_index.common.checks import check_choice, check_number, check_whole_number
from gem_index.common.json_input import read_json
from gem_index.errors import ConfigError
from gem_index.errors.quoting import quoted
from gem_index.text.tokens import Tokenizer

__all__ = ["NEW_COLLECTION_PRIOR", "GemConfig", "Ranking", "Removal"]

Removal = Literal["sdr", "sir", "none"]
Ranking = Literal["singular", "plain"]

NEW_COLLECTION_PRIOR = 10_000.0
"""Pseudo-sentences of background that a new collection starts with (docs/algorithm.md, section 7)."""


_STORED_NAMES = {"n_components": "components", "n_removed": "removed"}
"""Names of fields in stored configurations, settings and fingerprints, which keep their first spelling."""

_OWN_NAMES = {stored: name for name, stored in _STORED_NAMES.items()}

_IMPLIED = {"share": 1.0, "tokenizer": "wordpunct", "fit_words": 0}

_LARGEST = 1e9  # power and prior


class _NotChosen(float):
    """The default value of a field; a new collection may replace it."""


@dataclass(frozen=True, kw_only=True)
class GemConfig:
    """The configuration of a GEM encoder, validated and immutable.

    Parameters
    ----------
    window : int
        m: words before and after a word that make its context, at least 0.
    n_removed : int
        h: principal directions selected per sentence, at least 0.
    n_components : int
        K: principal directions kept of the corpus, at least ``n_removed``.
    power : float
        t of Eq. 7, the exponent of the singular values in a coarse vector, above 0.
    ranking : {"singular", "plain"}
        How a sentence ranks the directions: ``singular`` by sigma_k * ||S^T d_k||, ``plain`` by ||S^T d_k||.
    removal : {"sdr", "sir", "none"}
        Which directions leave the sentence vector: the sentence's own ``n_removed`` ones, the corpus' first ``n_removed``
        ones, or none.
    share : float
        The fraction of the vector's part along the selected directions that is removed, 0 to 1: c becomes c - ``share`` * D
        D^T c (docs/algorithm.md, section 4). In the paper it is 1.
    alphas : str
        The weights that are summed, any subset of ``"nsu"`` (novelty, significance, uniqueness); ``""`` weights every
        word 1.
    prior : float
        How many pseudo-sentences of the background a fit adds, at least 0 (docs/algorithm.md, section 7). By default an
        encoder adds none, and a new collection 10,000.
    tokenizer : {"wordpunct", "treebank", "tweet", "toktok"}
        Which of NLTK's tokenizers splits a text into words (docs/algorithm.md, section 1).
    fit_words : int
        A fit divides a text with more than 1.2 times this number of words into equal parts, which have at most this number.
        0 means whole texts, as in the paper; the cost then grows faster than the length (docs/algorithm.md,
        section 3).

    Raises
    ------
    ConfigError
        If a value is out of its range.

    Notes
    -----
    The presets :meth:`sts`, :meth:`cqa` and :meth:`transfer` are the paper's settings for its three experiments.
    """

    window: int = 7
    n_removed: int = 17
    n_components: int = 45
    power: float = 3.0
    ranking: Ranking = "singular"
    removal: Removal = "sdr"
    share: float = 1.0
    alphas: str = "nsu"
    prior: float = _NotChosen(0.0)
    tokenizer: Tokenizer = "wordpunct"
    fit_words: int = 0

    def __post_init__(self) -> None:
        whole = (("window", 0), ("n_removed", 0), ("n_components", 1), ("fit_words", 0))
        for name, low in whole:
            value = check_whole_number(getattr(self, name), name, low, 10_000)
            object.__setattr__(self, name, value)
        power = check_number(
            self.power, "power", 0, _LARGEST, above=True, expected="a number above 0"
        )
        prior = check_number(self.prior, "prior", 0, _LARGEST, expected="a number of at least 0")
        object.__setattr__(self, "power", power)
        if not isinstance(self.prior, _NotChosen):
            object.__setattr__(self, "prior", prior)
        object.__setattr__(self, "share", check_number(self.share, "share", 0, 1))
        if self.n_removed > self.n_components:
            raise ConfigError(
                f"n_removed is {self.n_removed} and n_components {self.n_components}; "
                "expected no more removed directions than components"
            )
        for name, chosen, allowed in (
            ("ranking", self.ranking, get_args(Ranking)),
            ("removal", self.removal, get_args(Removal)),
            ("tokenizer", self.tokenizer, get_args(Tokenizer)),
        ):
            check_choice(chosen, name, allowed)
        if not isinstance(self.alphas, str) or not set(self.alphas) <= set("nsu"):
            raise ConfigError(f"alphas is {quoted(self.alphas)}; expected a subset of 'nsu'")
        object.__setattr__(self, "alphas", "".join(a for a in "nsu" if a in self.alphas))

    @classmethod
    def sts(cls, **changes: Any) -> Self:
        """Return the paper's settings for semantic similarity, the default."""
        return cls(**changes)

    @classmethod
    def cqa(cls, **changes: Any) -> Self:
        """Return the paper's settings for community question answering."""
        paper: dict[str, Any] = {"window": 6, "n_removed": 15, "ranking": "plain"}
        return cls(**(paper | changes))

    @classmethod
    def transfer(cls, **changes: Any) -> Self:
        """Return the paper's settings for supervised tasks: nothing is removed."""
        return cls(**({"removal": "none"} | changes))

    @classmethod
    def trained(cls, **changes: Any) -> Self:
        """Return settings for vectors trained to be averaged, such as wordllama's: 0.4 of three directions is removed.

        In such vectors, a corpus has no direction that all sentences share; see
        :func:`gem_index.gem.recommended.recommended_config`. The settings were chosen on many dev sets at once
        (docs/evaluation.md).
        """
        ours: dict[str, Any] = {
            "window": 10,
            "n_removed": 3,
            "power": 2.0,
            "share": 0.4,
            "alphas": "nu",
            "fit_words": 25,
        }
        return cls(**(ours | changes))

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """Return the preset of that name.

        Raises
        ------
        ConfigError
            If there is no such preset.
        """
        presets = {
            "sts": cls.sts,
            "cqa": cls.cqa,
            "transfer": cls.transfer,
            "trained": cls.trained,
        }
        check_choice(name, "the preset", presets)
        return presets[name](**changes)

    @classmethod
    def of(cls, value: GemConfig | Mapping[str, Any] | str) -> GemConfig:
        """Return the configuration of a value: itself, its fields, or the name of a preset.

        Raises
        ------
        ConfigError
            If the value is none of these.
        """
        if isinstance(value, GemConfig):
            return value
        if isinstance(value, str):
            return cls.preset(value)
        if not isinstance(value, Mapping):
            raise ConfigError(
                f"the configuration is {quoted(value)}; expected a GemConfig, its fields, or the name of a preset"
            )
        return cls._of_fields(dict(value))

    @property
    def prior_chosen(self) -> bool:
        """Whether the prior was given explicitly (even as 0)."""
        return not isinstance(self.prior, _NotChosen)

    def for_collection(self, prior: float | None = None) -> Self:
        """Return the configuration for a new collection: without an explicit prior, :data:`NEW_COLLECTION_PRIOR`."""
        if prior is None and self.prior_chosen:
            return self
        return replace(self, prior=NEW_COLLECTION_PRIOR if prior is None else prior)

    @property
    def preset_name(self) -> str:
        """The name of the preset with equal fields, apart from the fields of the fit; ``custom`` if there is none."""
        paper = replace(self, prior=0.0)  # equal to a prior that was not chosen
        for name in ("sts", "cqa", "transfer", "trained"):
            if paper == self.preset(name, fit_words=self.fit_words):
                return name
        return "custom"

    def to_fields(self) -> dict[str, Any]:
        """Return the fields as JSON values for :meth:`of`, under their stored names (``components`` for ``n_components``).

        A prior that was not chosen is left out.
        """
        values = self._stated()
        if not self.prior_chosen:
            del values["prior"]
        return values

    def to_json(self) -> str:
        """Return the canonical JSON text: sorted keys, no white space."""
        return json.dumps(self._stated(), sort_keys=True, separators=(",", ":"))

    def _stated(self) -> dict[str, Any]:
        """Return the fields under their stored names.

        A field of a later version is left out if it has the value that earlier versions implied.
        """
        values = {_STORED_NAMES.get(name, name): value for name, value in asdict(self).items()}
        for name, implied in _IMPLIED.items():
            if values[name] == implied:
                del values[name]
        return values

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the configuration that :meth:`to_json` wrote.

        Raises
        ------
        ConfigError
            If the text is not such a configuration.
        """
        return cls._of_fields(read_json(text, "the configuration", error=ConfigError))

    @classmethod
    def _of_fields(cls, values: object) -> Self:
        return cls(**cls.named_fields(values))

    @classmethod
    def named_fields(cls, values: object) -> dict[str, Any]:
        """Return some fields by their own names; they may be given by their own names or their stored names.

        Raises
        ------
        ConfigError
            If they are not a mapping of fields, or a field has both names.
        """
        known = {field.name for field in fields(cls)}
        if not isinstance(values, Mapping) or not set(values) <= known | set(_OWN_NAMES):
            raise ConfigError(
                f"the configuration is {quoted(values, 80)}; expected an object with {', '.join(sorted(known))}"
            )
        named = {_OWN_NAMES.get(str(name), str(name)): value for name, value in values.items()}
        if len(named) < len(values):
            twice = next(
                name for name, stored in _STORED_NAMES.items() if {name, stored} <= set(values)
            )
            raise ConfigError(
                f"the configuration holds {twice} and {_STORED_NAMES[twice]}, which are the same; expected one of them"
            )
        return named
