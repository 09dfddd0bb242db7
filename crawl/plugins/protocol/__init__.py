"""Getting the bytes behind a URL, one plugin a scheme or a library."""
