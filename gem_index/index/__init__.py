"""Indexes: files that can be deleted and rebuilt from the texts."""
