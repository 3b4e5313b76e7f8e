"""Insert vertices into a forest and remove them: exact updates, OPFI, and DIFT."""
