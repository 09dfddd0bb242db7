"""Built-in parse filters."""
