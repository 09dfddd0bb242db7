"""HTML as such: which markup is safe to parse, its tags and text, its tree."""
