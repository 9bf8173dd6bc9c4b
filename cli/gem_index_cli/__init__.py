"""The command line of gem-index."""
