"""webgraph: what pages link to becomes the link graph's next state."""
