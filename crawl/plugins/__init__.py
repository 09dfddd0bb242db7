"""Built-in plugins, a folder per interface; found by entry point, imported by nobody."""
