"""What the service remembers, behind one interface."""
