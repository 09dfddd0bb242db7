"""generate: the due URLs with the highest scores become fetch lists of new segments."""
