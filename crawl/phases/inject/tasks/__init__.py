"""inject, task by task: seeds are sent to their slices, where they are merged."""
