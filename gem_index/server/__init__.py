"""An HTTP server for existing clients (extra ``server``)."""
