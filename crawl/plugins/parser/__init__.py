"""Built-in parsers, by MIME type."""
