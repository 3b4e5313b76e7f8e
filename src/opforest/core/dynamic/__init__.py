"""Insert and delete vertices of a forest, exactly; OPFI and DIFT."""
