"""Which plugins there are, and which are active."""
