"""Indexes: files that can be thrown away and rebuilt from the texts."""
