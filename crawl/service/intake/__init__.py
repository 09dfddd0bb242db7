"""How wishes come in: judged, decided on by one table, and queued."""
