"""What the GEM components share: which encoder they wrap, and how that is saved."""

from haystack_integrations.common.gem.provider import OpensProvider

__all__ = ["OpensProvider"]
