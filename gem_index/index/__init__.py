"""Indexes: files that can be thrown away and made anew from the texts."""
