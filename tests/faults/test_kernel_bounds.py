"""The kernels with their bounds checked: built with AddressSanitizer and the checks of undefined behaviour."""

import os
import subprocess
import sys

from pages import ROOT

RUN = "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))"
TESTS = [
    "tests/property/test_kernels.py",
    "tests/property/test_near_components.py",
    "tests/property/test_overlap_components.py",
    "tests/unit/test_fits.py",
]


def test_no_kernel_reads_or_writes_beyond_an_array(need_program):
    need_program("gcc")
    environment = {**os.environ, "CC": "gcc"}
    subprocess.run(
        [sys.executable, "hatch_build.py", "debug"], cwd=ROOT, env=environment, check=True, capture_output=True
    )  # fmt: skip
    runtimes = [
        subprocess.run(
            ["gcc", f"-print-file-name={name}"], check=True, capture_output=True, text=True
        ).stdout.strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    environment |= {
        "LD_PRELOAD": ":".join(runtimes),
        "ASAN_OPTIONS": "detect_leaks=0",  # Python's own
        "GEM_INDEX_KERNELS": "debug",
        "PYTHONPATH": os.pathsep.join(str(ROOT / part) for part in (".", "cli", "migrations")),
    }
    # the profile of the core: fewer random examples, because each takes several times as long here
    options = ["-q", "-x", "-p", "no:randomly", "-p", "no:cacheprovider", "-n", "0", "-m", ""]
    options.append("--hypothesis-profile=core")
    done = subprocess.run(
        [sys.executable, "-c", RUN, *options, *TESTS],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
