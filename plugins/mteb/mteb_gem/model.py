"""A GEM model for MTEB."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mteb.models.abs_encoder import AbsEncoder
from mteb.models.model_meta import ModelMeta, ScoringFunction

from gem_index import GemConfig, Home, open_provider, open_vectors
from gem_index.home import NamedProvider
from gem_index.vectors import VectorSource

if TYPE_CHECKING:
    from mteb import TaskMetadata
    from mteb.types import Array, BatchedInput, EncodeKwargs, PromptType
    from torch.utils.data import DataLoader
    from typing_extensions import Unpack

__all__ = ["GemModel"]

_BUNDLED = ("wordllama-gem", "wordllama")
_CITATION = """@inproceedings{yang-etal-2019-parameter,
  title = {Parameter-free Sentence Embedding via Orthogonal Basis},
  author = {Yang, Ziyi and Zhu, Chenguang and Chen, Weizhu},
  booktitle = {Proceedings of EMNLP-IJCNLP 2019},
  year = {2019},
  url = {https://aclanthology.org/D19-1059},
}"""


class GemModel(AbsEncoder):
    """GEM for ``mteb.evaluate`` and ``mteb.mock_run``; it is never fitted on the texts of a task.

    Parameters
    ----------
    vectors : str, optional
        Word vectors with their background components; by default the bundled ones.
    model : str or Path, optional
        A fitted model: its name in the home, or its file, whose name ends in ``.safetensors``.
    collection : str, optional
        A collection of the home, whose model is used.
    config : GemConfig, mapping of its fields, or name of a preset, optional
        Only with ``vectors``.
    home : Home, str or Path, optional
        The home in which names are looked up; by default the default home.
    fingerprint : str, optional
        The expected fingerprint.
    meta : mapping, optional
        Fields of ``mteb.models.ModelMeta`` that replace those of this class, such as ``name``, ``languages`` or ``license``.

    Raises
    ------
    FingerprintMismatchError
        If the fingerprint differs from the expected one.

    Examples
    --------
    >>> import mteb
    >>> mteb.mock_run(GemModel()).all_passed  # doctest: +SKIP
    True
    """

    mteb_model_meta: ModelMeta

    def __init__(
        self,
        vectors: str | None = None,
        *,
        model: str | Path | None = None,
        collection: str | None = None,
        config: GemConfig | Mapping[str, Any] | str | None = None,
        home: Home | str | Path | None = None,
        fingerprint: str | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        self.provider = open_provider(
            vectors,
            model=model,
            collection=collection,
            config=config,
            home=home,
            fingerprint=fingerprint,
        )
        self.mteb_model_meta = ModelMeta(**(_meta_of(self.provider) | dict(meta or {})))

    def encode(
        self,
        inputs: DataLoader[BatchedInput],
        *,
        task_metadata: TaskMetadata,
        hf_split: str,
        hf_subset: str,
        prompt_type: PromptType | None = None,
        **kwargs: Unpack[EncodeKwargs],
    ) -> Array:
        """Return unit vectors, float32 (n, dimension), of the texts of all batches.

        Queries and documents are embedded alike for all tasks; GEM uses no prompts. The batches are joined, because a vector
        does not depend on its batch.

        Raises
        ------
        ValueError
            If a precision other than float32 is requested: results would be stored under a wrong name.
        """
        precision = kwargs.get("precision", "float32")
        if precision != "float32":
            raise ValueError(f"the precision is {precision!r}; expected float32: omit the argument")
        return self.provider.embed_documents(text for batch in inputs for text in batch["text"])


def _load(
    _name: str, *, revision: str | None = None, device: str | None = None, **settings: Any
) -> GemModel:
    """Open a model from its metadata, for ``ModelMeta.load_model``; GEM runs only on the CPU."""
    del device
    return GemModel(**{"fingerprint": revision, **settings})


def _meta_of(provider: NamedProvider) -> dict[str, Any]:
    settings = provider.settings
    named = settings.get("model") or settings.get("collection") or settings.get("vectors")
    named = named or "+".join(part["vectors"] for part in settings["config"]["encoders"])
    sources = {part.vectors.fingerprint: part.vectors for part in provider.encoder.encoders}
    bundled = sources.keys() <= {open_vectors(name).fingerprint for name in _BUNDLED}
    counts = [_numbers_of(source) for source in sources.values()]
    numbers = None if None in counts else sum(filter(None, counts))
    return {
        "loader": _load,
        "loader_kwargs": settings,
        # a name, not a path: results are stored and published under it
        "name": "gem-index/" + "+".join(Path(part).name for part in named.split("+")),
        "revision": provider.fingerprint,
        "release_date": None,
        "languages": ["eng-Latn"] if bundled else None,
        # all parameters are word vectors: GEM itself has none, so none is "active"
        "n_parameters": numbers,
        "n_embedding_parameters": numbers,
        "memory_usage_mb": None if numbers is None else round(numbers * 4 / 2**20, 1),
        "max_tokens": math.inf,  # None would mean an unknown limit
        "embed_dim": provider.dimension,
        "license": "mit" if bundled else None,
        "open_weights": True if bundled else None,
        "public_training_code": None,
        "public_training_data": None,
        "framework": ["NumPy"],
        "reference": "https://aclanthology.org/D19-1059/",
        "similarity_fn_name": ScoringFunction.COSINE,
        "use_instructions": False,
        # the training data of the word vectors are not known
        "training_datasets": None,
        "citation": _CITATION,
    }


def _numbers_of(source: VectorSource) -> int | None:
    """Return the number of values in word vectors; None if they consist of more than one table."""
    rows = getattr(source, "rows", None)
    if rows is None or getattr(source, "ngrams", None) is not None:
        return None
    return len(rows) * source.dimension
