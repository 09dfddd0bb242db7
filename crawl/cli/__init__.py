"""`crawl COMMAND`: commands derived from operations (`derived.py`), and what belongs to a terminal:
the options of every command, what is printed, progress, checkers as servers."""
