"""Built-in scoring filters."""
