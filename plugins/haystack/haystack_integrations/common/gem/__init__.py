"""The common base of the GEM components, which opens and saves their encoder."""

from haystack_integrations.common.gem.provider import EncoderFields

__all__ = ["EncoderFields"]
