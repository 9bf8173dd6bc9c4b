"""What cffi writes when the package is built, from ``c/kernels.h``."""

from typing import Any

ffi: Any
