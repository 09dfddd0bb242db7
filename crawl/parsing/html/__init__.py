"""HTML: its tree, its text, its links and what a page says of itself."""
