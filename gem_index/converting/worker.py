"""The process that converts files: one request a line on standard input, one page a line on standard output.

A request is ``{"path", "kind", "encoding"}``; an answer is any number of ``{"title", "text", "key", "metadata"}`` and then
``{"sha256"}``, ``{"changed": true}``, ``{"problem"}`` or ``{"extra", "feature"}``.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any, TextIO

from gem_index.converting.converters import convert
from gem_index.errors import InputError, MissingExtraError
from gem_index.quoting import quoted_error

__all__ = ["main"]


def main(memory: int, longest: int) -> None:
    """Answer requests until standard input ends.

    Parameters
    ----------
    memory : int
        Bytes of memory that the process may take.
    longest : int
        Bytes that the text of a page may have.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)  # libraries print
    os.dup2(nowhere, 2)
    warnings.simplefilter("ignore")
    _limit(memory)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            end = _answer(request, longest, answers)
        except MissingExtraError as error:
            end = {"extra": error.extra, "feature": error.feature}
        except MemoryError:
            end = {
                "problem": f"reading it needs more than {memory >> 20} MiB of memory; expected a smaller file, "
                "or raise GEM_INDEX_FILE_MEMORY"
            }
        except InputError as error:
            end = {"problem": str(error)}
        except Exception as error:  # noqa: BLE001 - a parser may raise anything on a hostile file, and the file is named
            end = {
                "problem": f"it cannot be read ({type(error).__name__}: {quoted_error(error)}); expected an undamaged file"
            }
        _write(answers, end)


def _answer(request: dict[str, Any], longest: int, answers: TextIO) -> dict[str, Any]:
    path = Path(request["path"])
    before = path.stat()
    for page in convert(path, request["kind"], request["encoding"]):
        if len(page.text.encode("utf-8", "surrogatepass")) > longest:
            raise InputError(
                f"its text has more than {longest} bytes; expected at most that: split it, "
                "or raise GEM_INDEX_MAX_RECORD_BYTES"
            )
        _write(
            answers,
            {
                "title": page.title,
                "text": page.text,
                "key": page.key,
                "metadata": dict(page.metadata),
            },
        )
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        after = os.fstat(file.fileno())
    same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
    return {"sha256": digest} if same else {"changed": True}


def _write(answers: TextIO, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer))
    answers.write("\n")
    answers.flush()


def _limit(memory: int) -> None:
    try:
        import resource
    except ImportError:  # not on this platform
        return
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
