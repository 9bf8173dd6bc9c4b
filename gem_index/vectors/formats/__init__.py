"""Published formats of word vectors, a module each; :mod:`~gem_index.vectors.formats.registry` finds the right one."""
