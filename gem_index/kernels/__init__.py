"""Compiled inner loops: small functions that read like the plain implementations in the tests.

numba compiles a cached kernel again when the kernel's own file changes, but not when a function in another file changes:
after editing ``windows.py``, touch ``sentences.py`` and ``ill_conditioned.py`` (an installation writes all files again).
"""
