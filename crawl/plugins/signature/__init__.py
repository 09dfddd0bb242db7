"""Built-in signatures."""
