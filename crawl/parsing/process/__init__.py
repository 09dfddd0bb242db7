"""The process of its own in which pages are parsed, and the sandbox that drives it."""
