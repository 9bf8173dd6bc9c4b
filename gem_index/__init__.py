"""gem-index."""
