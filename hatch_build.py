"""Build the kernels: the C files of ``gem_index/kernels/c``, once for each level of the processor, and what cffi needs.

Hatchling runs this for a wheel or an editable installation. ``python hatch_build.py`` does the same in the checkout, and
``python hatch_build.py debug`` builds the kernels with AddressSanitizer and the checks of undefined behaviour.

The compiler is ``$CC``, or ``cc``, ``gcc`` or ``clang``; where there is none, the build installs Zig, which brings one.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from cffi import FFI

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run as a command
    BuildHookInterface = object  # type: ignore[assignment, misc]

_ROOT = Path(__file__).parent
_KERNELS = _ROOT / "gem_index" / "kernels"

_FLAGS = [
    "-std=gnu11",
    "-O3",
    "-funroll-loops",
    "-fPIC",
    "-shared",
    "-Wall",
    "-Wextra",
]
_SAME_BITS = ["-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"]
"""No product is fused with a sum, so that all levels and processors compute the same bits."""

_V3 = ["-mavx2", "-mfma", "-mbmi", "-mbmi2", "-mlzcnt", "-mmovbe", "-mf16c"]
_V4 = [
    *_V3,
    "-mavx512f",
    "-mavx512bw",
    "-mavx512cd",
    "-mavx512dq",
    "-mavx512vl",
    "-mprefer-vector-width=512",
]
_LEVELS = {"baseline": [], "x86-64-v3": _V3, "x86-64-v4": _V4}
_DEBUG = [
    "-O1",
    "-g",
    "-fno-omit-frame-pointer",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=undefined",
]


def find_compiler() -> list[str] | None:
    """Return the command of the system's C compiler, or None where there is none."""
    if named := os.environ.get("CC"):
        return shlex.split(named)
    found = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    return None if found is None else [found]


def build(levels: dict[str, list[str]]) -> list[Path]:
    """Compile the kernels for some levels and write the declarations; return the files, beside the package's modules."""
    compiler = find_compiler() or [sys.executable, "-m", "ziglang", "cc", "-fno-sanitize=undefined"]
    sources = sorted(map(str, (_KERNELS / "c").glob("*.c")))

    def compile_level(level: str, folder: Path) -> Path:
        new = folder / f"kernels-{level}.so"
        flags = [*_FLAGS, *_SAME_BITS, *levels[level]]
        if level != "debug" and sys.platform == "linux":
            flags.append("-s")  # Zig adds a megabyte of what debuggers read
        command = [*compiler, *flags, "-o", str(new), *sources, "-lm"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            problem = done.stderr if done.returncode else ""
        except OSError as error:
            problem = str(error)
        if problem:
            raise SystemExit(
                f"{problem}\nthe kernels did not compile with {shlex.join(compiler)} (above); expected GCC 9, "
                "Clang 12 or newer: install one (on Debian: apt install gcc libc6-dev) and name it by CC=..., or "
                "pip install ziglang and set CC='python -m ziglang cc'"
            )
        return new

    # made elsewhere and put in place at once: a process may run the old files, another build pack them
    with (
        tempfile.TemporaryDirectory(prefix=".kernels-", dir=_ROOT) as name,
        ThreadPoolExecutor(os.cpu_count()) as pool,
    ):
        folder = Path(name)
        made = list(pool.map(lambda level: compile_level(level, folder), levels))
        ffi = FFI()
        ffi.cdef((_KERNELS / "c" / "kernels.h").read_text())
        ffi.set_source("gem_index.kernels._declarations", None)
        made.append(folder / "_declarations.py")
        ffi.emit_python_code(str(made[-1]))
        return [path.replace(_KERNELS / path.name) for path in made]


def levels_of_this_machine() -> dict[str, list[str]]:
    """Return the levels to build, with their flags: one for an architecture whose processors all have the same registers."""
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    return _LEVELS if x86 else {"baseline": []}


class KernelBuild(BuildHookInterface):
    """Puts the compiled kernels into the wheel."""

    def dependencies(self) -> list[str]:
        """Return what the build needs beside what pyproject.toml names: a compiler, where the system has none."""
        return [] if find_compiler() else ["ziglang>=0.13"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and tell Hatchling which files to add and what the wheel is for: any Python 3 on this platform."""
        del version
        if self.target_name != "wheel":
            return
        root = Path(self.root)
        build_data["artifacts"] += [
            f"/{path.relative_to(root)}" for path in build(levels_of_this_machine())
        ]
        system = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{system}"
        build_data["pure_python"] = False


if __name__ == "__main__":
    asked = {"debug": _DEBUG} if sys.argv[1:] == ["debug"] else levels_of_this_machine()
    for path in build(asked):
        print(path)
