"""Pure decisions, one file a phase: one URL's past in, its future out."""
