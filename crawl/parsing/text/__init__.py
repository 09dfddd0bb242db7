"""Text as such: which type and charset bytes are of, what a column can hold, links in it."""
