"""Word vectors: one look-up interface, many sources."""
