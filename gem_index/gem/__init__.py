"""The algorithm of the paper: no database, no command line, and no files but its own model format."""
