"""Where the service keeps what it knows: versioned bytes by key, in one of several databases."""
