"""Files: inputs that may be compressed, outputs that are complete or not there, arrays."""
