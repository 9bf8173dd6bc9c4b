"""Register word vectors that a specification names by a path."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from gem_index.errors import Action, Advice, GemIndexError, NameTakenError
from gem_index.files.inputs import COMPRESSED, user_path
from gem_index.gem.specification import EncoderSpec
from gem_index.home.vector_library import VectorLibrary
from gem_index.home.vector_rows import find_users, registered_sources
from gem_index.store.workspace import Workspace
from gem_index.vectors.catalogue import CATALOGUE
from gem_index.vectors.registry import BUNDLED
from gem_index.vectors.specification import VectorSpec, is_path
from gem_index.vectors.stored import open_unstored, vector_file

__all__ = ["register_paths"]

_ENDINGS = (*COMPRESSED, ".txt", ".vec", ".bin", ".npy", ".safetensors", ".parquet")


@contextmanager
def register_paths(
    workspace: Workspace, library: VectorLibrary, specs: Sequence[EncoderSpec]
) -> Iterator[list[EncoderSpec]]:
    """Register the word vectors of each path under the file name; yield the specifications with names instead of paths.

    The reason: a collection or model must not depend on a file outside the home. If the block raises, new registered
    vectors that nothing uses are removed.

    Raises
    ------
    NameTakenError
        If the name of a file belongs to other registered vectors.
    """
    added: list[str] = []

    def named(spec: VectorSpec) -> VectorSpec:
        return VectorSpec(
            tuple(replace(part, name=_register(part.name, added)) for part in spec.parts)
        )

    def _register(part: str, added: list[str]) -> str:
        name = _name_of(workspace, part)
        if name is None:
            return part
        if name not in registered_sources(workspace):
            library.add(name, part)
            added.append(name)
        return name

    try:
        yield [replace(spec, vectors=named(spec.vectors)) for spec in specs]
    except BaseException as error:
        if not isinstance(error, Exception):
            workspace.database.roll_back_interrupted()
        for name in added:
            try:
                if not find_users(workspace, name):
                    library.remove(name)
            except GemIndexError as second:
                error.add_note(f"the vectors {name} were not removed: {second}")
        raise


def _name_of(workspace: Workspace, part: str) -> str | None:
    """Return the name under which a part of a specification is to be stored; None if nothing must be registered."""
    records = registered_sources(workspace)
    if part in records or part in BUNDLED:
        return None
    if not is_path(part):
        # an unknown name is reported later, when it is opened
        return part if part in CATALOGUE and CATALOGUE[part].packaged else None
    name = user_path(part).absolute().name
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")
    if name in records or name in BUNDLED:
        found = open_unstored(vector_file(part)).fingerprint
        if name not in records or found != records[name].fingerprint:
            raise NameTakenError(
                f"other vectors than {part} are registered as {name}; expected a free name",
                Advice(Action.NAME_VECTORS, {"file": part}),
            )
    return name
