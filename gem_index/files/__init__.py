"""Files: inputs that may be compressed, outputs that are written atomically, arrays."""
