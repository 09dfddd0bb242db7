"""Records on their way to disk: a journal, files of a chunk, and parsing on the way."""
