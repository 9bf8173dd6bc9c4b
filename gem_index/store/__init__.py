"""The primary data: texts, models and names in SQLite."""
