"""Who runs the engine: threads in real time, virtual time, or one page at a time."""
