"""The paper, nothing else: no files but its own model format, no database, no command line."""
