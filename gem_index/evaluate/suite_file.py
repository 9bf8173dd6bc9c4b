"""The file of a suite: data sets, and the configurations that are compared."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gem_index.errors import ConfigError, InputError
from gem_index.errors.quoting import quoted, quoted_error, quoted_path
from gem_index.evaluate.candidates import Encoder
from gem_index.evaluate.lookups import make_lookups
from gem_index.evaluate.retrieval import RetrievalTask
from gem_index.evaluate.suite_sets import FORM, DataSet, read_data_set
from gem_index.files.inputs import user_path
from gem_index.vectors.base import VectorSource

__all__ = ["Candidate", "Suite", "read_suite"]


@dataclass(frozen=True)
class Candidate:
    """A configuration of a suite: a function that makes its encoder, and the vectors of the plain mean to compare with."""

    name: str
    make: Callable[[], Encoder]
    vectors: VectorSource
    described: Mapping[str, Any]


@dataclass(frozen=True)
class Suite:
    """The content of a suite's file: data sets, and configurations as written in the file."""

    sets: tuple[DataSet, ...]
    configurations: tuple[Mapping[str, Any], ...]


def read_suite(path: Path) -> Suite:
    """Read a suite's file; the paths in it are relative to it.

    Raises
    ------
    InputError
        If it, or a file that it names, cannot be read.
    ConfigError
        If its content is not a suite.
    """
    path = user_path(path)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        kind = ConfigError if isinstance(error, tomllib.TOMLDecodeError) else InputError
        raise kind(
            f"cannot read {quoted_path(path)}: {quoted_error(error)}; expected TOML in UTF-8: {FORM}"
        ) from error
    if not set(content) <= {"set", "configuration"}:
        raise ConfigError(f"{quoted_path(path)} holds {sorted(content)}; {FORM}")
    sets = [read_data_set(path, entry) for entry in _tables(path, content, "set")]
    if not sets:
        raise ConfigError(f"{quoted_path(path)} holds no set; {FORM}")
    configurations = _tables(path, content, "configuration") or [{"name": "default"}]
    known = {"name", "vectors", "preset", "config", "file"}
    for entry in configurations:
        if not isinstance(entry.get("name"), str) or not set(entry) <= known:
            raise ConfigError(
                f"{quoted_path(path)} holds the configuration {quoted(entry)}; {FORM}"
            )
    for what, names in (
        ("set", [f"{each.task}: {each.name}" for each in sets]),
        ("configuration", [entry["name"] for entry in configurations]),
    ):
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ConfigError(
                f"{quoted_path(path)} holds two of the {what} {quoted(twice)}; expected each name once"
            )
    for each in sets:  # report unreadable data before hours of work
        if isinstance(each.data, RetrievalTask) and not each.data.queries:
            raise InputError(f"{quoted_path(each.path)} holds no relevant candidate; expected some")
        if each.task == "lookup" and not make_lookups(each.texts):
            raise InputError(
                f"{quoted_path(each.path)} holds no word that occurs in only one of its texts; expected some to look up"
            )
    return Suite(tuple(sets), tuple(configurations))


def _tables(path: Path, content: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    found = content.get(name, [])
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise ConfigError(f"{quoted_path(path)} holds {name} = {quoted(found)}; {FORM}")
    return found
