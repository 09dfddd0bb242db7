"""How far a task is, and its figures, for the driver and for people who watch."""
