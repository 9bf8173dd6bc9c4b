"""GEM sentence embeddings as a pipeline component of spaCy: ``nlp.add_pipe("gem")``."""

from spacy_gem.component import GemComponent, make_gem

__all__ = ["GemComponent", "make_gem"]
