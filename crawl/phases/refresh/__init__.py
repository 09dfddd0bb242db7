"""refresh: URLs that somebody wants to be fetched anew are due now."""
