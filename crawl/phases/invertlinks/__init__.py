"""invertlinks: the links of parsed segments become the LinkDb's next state."""
