"""The process that converts files: one request per line on standard input, one page per line on standard output.

A request is ``{"path", "kind", "encoding"}``; an answer is any number of pages as ``{"title", "text", "key", "metadata",
"problem"}`` and then ``{"sha256"}``, ``{"changed": true}``, ``{"problem"}`` or ``{"extra", "feature"}``.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from gem_index.converting.converters import convert
from gem_index.converting.pages import Page
from gem_index.errors import InputError, MissingExtraError
from gem_index.errors.quoting import quoted_error

__all__ = ["main"]


def main(memory: int, longest: int, seconds: int) -> None:
    """Answer requests until standard input ends.

    Parameters
    ----------
    memory : int
        Bytes of memory that the process may take.
    longest : int
        Bytes that the text of a page may have.
    seconds : int
        If a page takes longer, the process ends itself, because the process that started it may have been killed.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)  # libraries print
    os.dup2(nowhere, 2)
    warnings.simplefilter("ignore")
    _limit(memory)
    for line in sys.stdin:
        request = json.loads(line)
        signal.alarm(seconds)
        try:
            end = _answer(request, longest, seconds, answers)
        except MissingExtraError as error:
            end = {"extra": error.extra, "feature": error.feature}
        except MemoryError:
            end = {
                "problem": f"reading it needs more than {memory >> 20} MiB of memory; expected a smaller file, "
                "or raise GEM_INDEX_FILE_MEMORY"
            }
        except InputError as error:
            end = {"problem": str(error)}
            if error.advice is not None:
                end |= {"action": error.advice.action.name, "values": dict(error.advice.values)}
        except Exception as error:  # noqa: BLE001 - a parser may raise anything on a hostile file, and the file is named
            end = {
                "problem": f"it cannot be read ({type(error).__name__}: {quoted_error(error)}); expected an undamaged file"
            }
        signal.alarm(0)
        _write(answers, end)


def _answer(request: dict[str, Any], longest: int, seconds: int, answers: TextIO) -> dict[str, Any]:
    path = Path(request["path"])
    before = path.stat()
    for page in convert(path, request["kind"], request["encoding"]):
        if len(page.text.encode("utf-8", "surrogatepass")) > longest:
            problem = (
                f"its text has more than {longest} bytes; expected at most that: split it, "
                "or raise GEM_INDEX_MAX_RECORD_BYTES"
            )
            if not page.key:
                raise InputError(problem)
            page = Page("", "", page.key, problem=problem)
        signal.alarm(0)  # the reader of the output may take any time
        _write(answers, asdict(page))
        signal.alarm(seconds)
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
    main(*map(int, sys.argv[1:]))
