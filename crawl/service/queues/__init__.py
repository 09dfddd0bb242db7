"""Where what was taken in waits until it is fetched."""
