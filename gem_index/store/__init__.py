"""The truth: texts, models and names in SQLite."""
