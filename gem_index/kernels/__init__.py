"""The inner loops, in C: one function here for each of ``c/kernels.h``, which checks what it is given and calls it.

``hatch_build.py`` compiles them when the package is built, once for each level of the processor. Every level computes the
same bits: see ``c/lanes.h``.
"""
