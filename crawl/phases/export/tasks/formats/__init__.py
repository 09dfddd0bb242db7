"""How records are written: one file a format. `formats` knows which there are."""
