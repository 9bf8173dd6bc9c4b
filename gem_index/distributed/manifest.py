"""The manifest of a folder of vectors: the request and, at the end, the content of each file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gem_index.distributed.partitions import PartReport
from gem_index.distributed.places import OutputFolder
from gem_index.errors import CorruptionError, InputError
from gem_index.errors.quoting import quoted, quoted_error, quoted_path

__all__ = ["MANIFEST", "Manifest", "part_name"]

MANIFEST = "_gem-index.json"
"""The name of the manifest; readers of Parquet folders ignore names that begin with an underscore."""

_MAGIC = "gem-index vectors"
_VERSION = 1


def part_name(number: int) -> str:
    """Return the name of the file of a partition."""
    return f"part-{number:05}.parquet"


@dataclass(frozen=True)
class Manifest:
    """The manifest of one request.

    Attributes
    ----------
    request : mapping
        JSON values on which the vectors depend.
    reports : list, optional
        The reports of the partitions, when all are finished.
    """

    request: Mapping[str, Any]
    reports: Sequence[PartReport] | None = None

    @classmethod
    def read(cls, folder: OutputFolder) -> Manifest | None:
        """Return the manifest of a folder; None if the folder is empty or missing.

        Raises
        ------
        InputError
            If there are other files without a manifest.
        CorruptionError
            If it is damaged, or of a newer version.
        """
        names = [name for name in folder.names() if not name.endswith(".partial")]
        if MANIFEST not in names:
            if names:
                raise InputError(
                    f"{quoted_path(folder.place)} holds {quoted_path(names[0])} and no vectors of gem-index; expected an "
                    "empty or a new folder"
                )
            return None
        try:
            content = json.loads(folder.read(MANIFEST))
            if content["magic"] != _MAGIC or content["version"] != _VERSION:
                raise CorruptionError(
                    f"{quoted_path(folder.place)}/{MANIFEST} is {quoted(content['magic'])} version "
                    f"{quoted(content['version'])}; expected {_MAGIC!r} version {_VERSION}"
                )
            reports = content.get("parts")
            return cls(
                content["request"],
                None if reports is None else [_report(each) for each in reports],
            )
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise CorruptionError(
                f"{quoted_path(folder.place)}/{MANIFEST} cannot be read ({quoted_error(error)}); remove the folder, or name "
                "another one"
            ) from error

    def write(self, folder: OutputFolder) -> None:
        """Write the manifest atomically.

        Raises
        ------
        InputError
            If the folder cannot be written.
        """
        content: dict[str, Any] = {"magic": _MAGIC, "version": _VERSION, "request": self.request}
        if self.reports is not None:
            content["parts"] = [
                {"name": part_name(i), **asdict(report)} for i, report in enumerate(self.reports)
            ]
        try:
            with folder.writing(MANIFEST) as path:
                path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")
        except OSError as error:
            raise InputError(
                f"cannot write to {quoted_path(folder.place)}: {quoted_error(error)}; expected a writable folder"
            ) from error

    def check(self, folder: OutputFolder, wanted: Mapping[str, Any]) -> None:
        """Check that a request equals the request of this manifest.

        Raises
        ------
        InputError
            If it is another request; the error names the difference.
        """
        differing = [key for key in wanted if self.request.get(key) != wanted[key]]
        if differing:
            raise InputError(
                f"{quoted_path(folder.place)} holds vectors of another request, which differs in {', '.join(differing)}; "
                "expected the same request, which continues, or another folder"
            )


def _report(entry: Mapping[str, Any]) -> PartReport:
    problems = [
        (str(source), int(line), str(problem), *advice)
        for source, line, problem, *advice in entry["problems"]
    ]
    return PartReport(entry["rows"], entry["empty"], entry["skipped"], problems)
