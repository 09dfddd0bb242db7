"""linkrank: the nodes of the link graph get scores by the links into them."""
