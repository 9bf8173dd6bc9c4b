"""An HTTP server that existing clients speak to (extra ``server``)."""
