"""Built-in fetch schedules."""
