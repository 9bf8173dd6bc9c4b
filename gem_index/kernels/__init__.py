"""Compiled inner loops: small functions that read like their plain twins in the tests.

numba renews a kernel's cached machine code when the kernel's own file changes, not when a part in another file does: after
editing ``windows.py``, touch ``sentences.py`` and ``ill_conditioned.py`` (an installation writes all files again).
"""
