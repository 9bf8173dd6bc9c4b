"""A server for assistants, in the Model Context Protocol (extra ``mcp``)."""
