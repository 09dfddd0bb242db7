"""One page as the parser sees it."""
