"""HTML as such, whoever may want it: which markup is safe to parse, its tags and text, its tree."""
