"""The first module of a SentenceTransformer, which turns texts into GEM vectors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self, Unpack

import torch
from sentence_transformers.base.modules import InputModule

from gem_index import Home, open_provider
from gem_index.errors import ConfigError
from gem_index.home import ProviderOptions

__all__ = ["GemModule"]

_MODEL_FILE = "gem.safetensors"
_ALL = 2**31 - 1  # words


class GemModule(InputModule):
    """Embeds texts with GEM; it has no weights to train, and modules may follow it.

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

    Raises
    ------
    FingerprintMismatchError
        If the fingerprint differs from the expected one.

    Examples
    --------
    >>> from sentence_transformers import SentenceTransformer
    >>> model = SentenceTransformer(modules=[GemModule()])
    >>> model.encode("a man plays guitar").shape
    (256,)
    """

    def __init__(
        self,
        vectors: str | None = None,
        **options: Unpack[ProviderOptions],
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # the base class has no annotations
        self.provider = open_provider(vectors, **options)
        self._longest = _ALL

    def preprocess(
        self, inputs: Sequence[Any], prompt: str | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Embed n texts, each after the prompt, as float32 (n, dimension) under ``sentence_embedding``.

        Texts are embedded here and not in :meth:`forward`, so that a batch holds a tensor, which the model moves to the
        device of the following modules.
        """
        texts = [prompt + text for text in inputs] if prompt else list(inputs)
        if self._longest != _ALL:
            texts = [_beginning(text, self._longest) for text in texts]
        return {"sentence_embedding": torch.from_numpy(self.provider.embed_documents(texts))}

    def forward(self, features: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Return the features of :meth:`preprocess` unchanged."""
        return features

    @property
    def max_seq_length(self) -> int:
        """The most words of a text that are embedded, divided by white space: 2^31 - 1, which is all, until it is set."""
        return self._longest

    @max_seq_length.setter
    def max_seq_length(self, words: int) -> None:
        if type(words) is not int or words < 1:
            raise ConfigError(
                f"max_seq_length is {words!r:.80}; expected a number of words, 1 or more"
            )
        self._longest = words

    def get_embedding_dimension(self) -> int:
        """Return the length of a vector."""
        return self.provider.dimension

    def get_config_dict(self) -> dict[str, Any]:
        """Return the arguments that open the same embeddings again, including the fingerprint."""
        return self.provider.settings

    def save(
        self, output_path: str, *args: Any, safe_serialization: bool = True, **kwargs: Any
    ) -> None:
        """Write ``config.json`` and, for a fitted model, the model itself, into a folder.

        Loading the folder then needs the word vectors by name, but not the original file, home or collection of the model.
        """
        settings = self.get_config_dict()
        if "model" in settings or "collection" in settings:
            self.provider.encoder.save(Path(output_path, _MODEL_FILE))
            settings["vectors"] = _vectors_of(settings)
            settings["model"] = _MODEL_FILE
            settings.pop("collection", None)
        path = Path(output_path, self.config_file_name)
        path.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(
        cls,
        model_name_or_path: str,
        subfolder: str = "",
        token: bool | str | None = None,
        cache_folder: str | None = None,
        revision: str | None = None,
        local_files_only: bool = False,
        init_defaults: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Open a folder that :meth:`save` wrote.

        ``model_kwargs`` may hold another ``home`` or another name of the same ``vectors``, for use on another machine.

        Raises
        ------
        FingerprintMismatchError
            If the word vectors, the configuration or the fitted model differ from those that were saved.
        FileNotFoundError
            If the folder lacks a file that :meth:`save` wrote.
        """

        def find(name: str) -> Path:
            path = cls.load_file_path(
                model_name_or_path,
                name,
                subfolder,
                token,
                cache_folder,
                revision,
                local_files_only,
            )
            if path is None:
                raise FileNotFoundError(
                    f"found no {name} in {Path(model_name_or_path, subfolder)}; expected it: save the model again"
                )
            return Path(path).absolute()

        settings = json.loads(find(cls.config_file_name).read_text(encoding="utf-8"))
        if "model" in settings:
            settings["model"] = find(settings["model"])
        chosen = kwargs.get("model_kwargs") or {}
        settings |= {key: chosen[key] for key in ("vectors", "home") if key in chosen}
        return cls(**settings)


def _beginning(text: str, words: int) -> str:
    """Return the first words of a text, divided by white space."""
    parts = text.split(maxsplit=words)
    return " ".join(parts[:words])


def _vectors_of(settings: Mapping[str, Any]) -> str | None:
    """Return the name of the word vectors of a fitted model; None means the bundled ones."""
    if "vectors" in settings or str(settings.get("model")).endswith(".safetensors"):
        return settings.get("vectors")
    home = Home(settings.get("home"))
    if "collection" in settings:
        return home.collection(settings["collection"]).status().vectors
    home.models.open(settings["model"])  # raises an error with its name if it is missing
    return next(model.vectors for model in home.models.list() if model.name == settings["model"])
