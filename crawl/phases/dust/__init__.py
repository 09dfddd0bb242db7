"""dust: which parts of a host's URLs make no difference."""
